package import Cryptography

/// Why an attestation is refused: a case for each step of Apple's page "Validating apps that connect to your
/// server", and one for each thing checked beyond it.
package enum AttestationError: Error, Equatable, Sendable {
  /// More than 16 KiB.
  case tooLarge
  /// No CBOR.
  case encoding(CBORError)
  /// A member is missing or of another type.
  case structure
  /// `fmt` is not `apple-appattest`.
  case format
  /// Not exactly two certificates.
  case certificateCount
  /// A certificate cannot be read, or the leaf's key is none of P-256.
  case certificate
  /// Step 1: the chain does not hold now.
  case chain(CertificateError)
  /// Step 4: the certificate is not about this authenticator data and client data.
  case nonceMismatch
  /// Step 4 on macOS: the key is not guarded as Apple's page demands.
  case accessControlMismatch
  /// Step 5: the key id is not the hash of the certificate's key.
  case keyIDMismatch
  /// The authenticator data cannot be read.
  case authenticatorData(AuthenticatorDataError)
  /// Step 6: made for another app.
  case appMismatch
  /// Step 7: the counter is not 0.
  case counterNotZero
  /// Step 8: the AAGUID is of an environment that is not taken, or of none.
  case environmentMismatch
  /// Step 9: the credential id is not the key id.
  case credentialIDMismatch
  /// The COSE key is another than the certificate's.
  case publicKeyMismatch
  /// The certificate names another app than the authenticator data.
  case certificateAppMismatch
  /// Step 10: the build's category or version is not taken.
  case extensionPolicy
}

extension AttestationError: CustomStringConvertible {
  /// One line for a log or a person.
  package var description: String {
    switch self {
    case .tooLarge: "more than \(AttestationObject.maximumLength) octets"
    case .encoding(let error): "no strict CBOR: \(error)"
    case .structure: "a member is missing or of another type"
    case .format: "fmt is not apple-appattest"
    case .certificateCount: "x5c does not have two certificates"
    case .certificate: "a certificate cannot be read, or the leaf's key is none of P-256"
    case .chain(let error): "the certificate chain does not hold: \(error)"
    case .nonceMismatch: "the certificate's nonce is not that of this authenticator data and client data hash"
    case .accessControlMismatch: "the key's access control list is not the one that macOS demands"
    case .keyIDMismatch: "the key id is not the hash of the certificate's public key"
    case .authenticatorData(let error): "the authenticator data cannot be read: \(error)"
    case .appMismatch: "made for another app"
    case .counterNotZero: "the counter is not 0"
    case .environmentMismatch: "of an environment that is not accepted"
    case .credentialIDMismatch: "the credential id is not the key id"
    case .publicKeyMismatch: "the credential's public key is not the certificate's"
    case .certificateAppMismatch: "the certificate names another app than the authenticator data"
    case .extensionPolicy: "the build's validation category or version is not accepted"
    }
  }
}
