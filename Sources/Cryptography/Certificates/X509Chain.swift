import COpenSSL

/// Path building and validation by OpenSSL.
enum X509Chain {
  static func build(
    leaf: X509Handle, intermediates: [X509Handle], anchors: [X509Handle], time: Int64
  ) -> Result<[X509Handle], CertificateError> {
    guard !anchors.isEmpty else { return .failure(.untrusted) }
    // OpenSSL compares with nothing outside of what GeneralizedTime can write (1950 to 9999).
    let moment = time_t(min(max(time, -631_152_000), 253_402_300_799))
    let trusted = unsafe stack(anchors)
    let untrusted = unsafe stack(intermediates)
    let context = unsafe X509_STORE_CTX_new()
    defer {
      unsafe X509_STORE_CTX_free(context)
      unsafe OPENSSL_sk_free(trusted)
      unsafe OPENSSL_sk_free(untrusted)
      clearErrors()
    }
    return unsafe leaf.withPointer { certificate in
      guard unsafe X509_STORE_CTX_init(context, nil, certificate, untrusted) == 1 else {
        return .failure(.malformed)
      }
      unsafe X509_STORE_CTX_set0_trusted_stack(context, trusted)
      let parameters = unsafe X509_STORE_CTX_get0_param(context)
      unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
      unsafe X509_VERIFY_PARAM_set_time(parameters, moment)
      unsafe X509_VERIFY_PARAM_set_depth(parameters, 4)
      guard unsafe X509_verify_cert(context) == 1 else {
        return .failure(unsafe error(X509_STORE_CTX_get_error(context)))
      }
      let chain = unsafe X509_STORE_CTX_get0_chain(context)
      var handles: [X509Handle] = []
      for index in 0..<(unsafe OPENSSL_sk_num(chain)) {
        guard let raw = unsafe OPENSSL_sk_value(chain, index) else { return .failure(.malformed) }
        let link = OpaquePointer(raw)
        unsafe X509_up_ref(link)
        unsafe handles.append(X509Handle(taking: link))
      }
      return .success(handles)
    }
  }

  /// A stack that borrows the certificates.
  private static func stack(_ handles: [X509Handle]) -> OpaquePointer? {
    let stack = unsafe OPENSSL_sk_new_null()
    for handle in handles {
      unsafe handle.withPointer { _ = unsafe OPENSSL_sk_push(stack, UnsafeRawPointer($0)) }
    }
    return unsafe stack
  }

  private static func error(_ code: Int32) -> CertificateError {
    switch code {
    case X509_V_ERR_CERT_HAS_EXPIRED: .expired
    case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
    case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE: .badSignature
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED,
      X509_V_ERR_CERT_CHAIN_TOO_LONG:
      .untrusted
    default: .invalid(code: code)
    }
  }
}
