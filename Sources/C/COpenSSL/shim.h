#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// Names that OSSL_PARAM keeps a pointer to: a Swift literal passed as an argument lives only as long as
// the call. Functions, so that Swift sees no global of a pointer type.
static inline const char *bramley_param_group(void) { return OSSL_PKEY_PARAM_GROUP_NAME; }
static inline const char *bramley_param_public(void) { return OSSL_PKEY_PARAM_PUB_KEY; }
static inline const char *bramley_param_private(void) { return OSSL_PKEY_PARAM_PRIV_KEY; }
static inline const char *bramley_param_modulus(void) { return OSSL_PKEY_PARAM_RSA_N; }
static inline const char *bramley_param_exponent(void) { return OSSL_PKEY_PARAM_RSA_E; }
static inline const char *bramley_param_digest(void) { return OSSL_MAC_PARAM_DIGEST; }
static inline const char *bramley_p256(void) { return "P-256"; }
static inline const char *bramley_p384(void) { return "P-384"; }
static inline const char *bramley_sha256(void) { return "SHA256"; }

// Macros over other macros, which Swift does not import.
static const int bramley_pkey_public = EVP_PKEY_PUBLIC_KEY;
static const int bramley_pkey_pair = EVP_PKEY_KEYPAIR;
