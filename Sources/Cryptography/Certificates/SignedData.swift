import COpenSSL

/// Why CMS SignedData is refused.
package enum SignedDataError: Error, Equatable, Sendable {
  /// The octets are no SignedData with content, or something follows it.
  case malformed
  /// There is none, or more than one signer.
  case signerCount
  /// The signer's certificate is not among the certificates.
  case signerCertificateMissing
  /// The signature is over attributes instead of the content.
  case signedAttributes
  /// The signature does not hold over the content.
  case badSignature
}

/// CMS SignedData with its content (RFC 5652 §5), BER or DER, by one signer and without signed attributes.
///
/// The certificates may stand in any order. Reading it proves nothing: `verify` checks the signature, and
/// the signer's chain is checked by `Certificate.chain`.
package struct SignedData: Sendable {
  /// The content octets, put together from their chunks.
  package let content: [UInt8]
  /// The certificate that the signer information names; unproven before `verify`.
  package let signer: Certificate
  /// All certificates that came along, in their order.
  package let certificates: [Certificate]
  /// Whether the signature is over attributes; `verify` refuses that.
  package let hasSignedAttributes: Bool
  private let encoding: [UInt8]

  /// Takes the parts of the message `encoding`, to its last octet.
  package init(_ encoding: [UInt8]) throws(SignedDataError) {
    defer { clearErrors() }
    guard let message = CMSHandle(encoding), let content = message.content else { throw .malformed }
    guard message.signerCount == 1 else { throw .signerCount }
    guard let certificates = message.certificates else { throw .malformed }
    guard let signer = message.signer(of: certificates) else { throw .signerCertificateMissing }
    self.encoding = encoding
    self.content = content
    self.signer = signer
    self.certificates = certificates
    hasSignedAttributes = message.hasSignedAttributes
  }

  /// Checks that `signer`'s key signed the content.
  package func verify() throws(SignedDataError) {
    defer { clearErrors() }
    if hasSignedAttributes { throw .signedAttributes }
    guard let message = CMSHandle(encoding), let verified = message.verifiedContent, verified == content
    else {
      throw .badSignature
    }
  }
}

/// A CMS_ContentInfo of OpenSSL. Not shared: verifying changes it.
@safe private struct CMSHandle: ~Copyable {
  private let message: OpaquePointer

  init?(_ encoding: [UInt8]) {
    guard Int32(exactly: encoding.count) != nil else { return nil }
    let parsed = unsafe encoding.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var cursor = buffer.baseAddress
      guard let parsed = unsafe d2i_CMS_ContentInfo(nil, &cursor, buffer.count) else { return nil }
      guard unsafe cursor == buffer.baseAddress.map({ unsafe $0 + buffer.count }),
        unsafe OBJ_obj2nid(CMS_get0_type(parsed)) == NID_pkcs7_signed
      else {
        unsafe CMS_ContentInfo_free(parsed)
        return nil
      }
      return unsafe parsed
    }
    guard let parsed = unsafe parsed else { return nil }
    unsafe message = parsed
  }

  deinit { unsafe CMS_ContentInfo_free(message) }

  var content: [UInt8]? {
    guard unsafe OBJ_obj2nid(CMS_get0_eContentType(message)) == NID_pkcs7_data,
      let place = unsafe CMS_get0_content(message), let string = unsafe place.pointee
    else { return nil }
    return unsafe octets(of: string)
  }

  var signerCount: Int { Int(unsafe OPENSSL_sk_num(CMS_get0_SignerInfos(message))) }

  private var signerInfo: OpaquePointer? {
    unsafe OPENSSL_sk_value(CMS_get0_SignerInfos(message), 0).map { OpaquePointer($0) }
  }

  var hasSignedAttributes: Bool { unsafe CMS_signed_get_attr_count(signerInfo) >= 0 }

  var certificates: [Certificate]? {
    let stack = unsafe CMS_get1_certs(message)
    defer { unsafe OPENSSL_sk_free(stack) }
    var certificates: [Certificate] = []
    var failed = false
    for index in 0..<max(0, unsafe OPENSSL_sk_num(stack)) {
      guard let raw = unsafe OPENSSL_sk_value(stack, index) else { continue }
      // Taken over even after a failure, so that each is freed.
      let handle = unsafe X509Handle(taking: OpaquePointer(raw))
      guard let der = handle.der, let certificate = try? Certificate(handle, der: der) else {
        failed = true
        continue
      }
      certificates.append(certificate)
    }
    return failed ? nil : certificates
  }

  func signer(of certificates: [Certificate]) -> Certificate? {
    guard let signerInfo = unsafe signerInfo else { return nil }
    return certificates.first { certificate in
      unsafe certificate.withPointer { unsafe CMS_SignerInfo_cert_cmp(signerInfo, $0) == 0 }
    }
  }

  /// The content, if its signature holds. The signer's chain is not judged here.
  var verifiedContent: [UInt8]? {
    guard let output = unsafe BIO_new(BIO_s_mem()) else { return nil }
    defer { unsafe BIO_free(output) }
    let flags = UInt32(CMS_BINARY | CMS_NO_SIGNER_CERT_VERIFY | CMS_NOCRL)
    guard unsafe CMS_verify(message, nil, nil, nil, output, flags) == 1 else { return nil }
    return unsafe contents(of: output)
  }
}
