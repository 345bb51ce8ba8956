import COpenSSL

/// An extension of a certificate, its value still encoded.
package struct CertificateExtension: Sendable, Equatable {
  /// The object identifier as numbers and dots.
  package let identifier: String
  package let isCritical: Bool
  /// What the extension's OCTET STRING contains.
  package let value: [UInt8]
}

/// An X.509 certificate (RFC 5280).
package struct Certificate: Sendable, Equatable {
  /// Its encoding.
  package let der: [UInt8]
  /// Valid from, seconds since 1970.
  package let notBefore: Int64
  /// Valid until, seconds since 1970.
  package let notAfter: Int64
  /// Its extensions, each once, in their order.
  package let extensions: [CertificateExtension]
  private let handle: X509Handle

  /// Parses the certificate that `der` is, to its last octet.
  package init(der: [UInt8]) throws(CertificateError) {
    guard let handle = X509Handle(der: der) else { throw .malformed }
    try self.init(handle, der: der)
  }

  init(_ handle: X509Handle, der: [UInt8]) throws(CertificateError) {
    guard let extensions = handle.extensions, let notBefore = handle.notBefore, let notAfter = handle.notAfter
    else {
      clearErrors()
      throw .malformed
    }
    self.der = der
    self.handle = handle
    self.extensions = extensions
    self.notBefore = notBefore
    self.notAfter = notAfter
  }

  /// The certificates of a PEM text, in its order; throws `malformed` when there is none.
  package static func all(pem text: String) throws(CertificateError) -> [Certificate] {
    guard let values = PEM.decode(text, label: "CERTIFICATE"), !values.isEmpty else { throw .malformed }
    var certificates: [Certificate] = []
    for value in values { certificates.append(try Certificate(der: value)) }
    return certificates
  }

  /// The X9.63 uncompressed point of the subject's P-256 or P-384 key; nil for other keys.
  package var publicKeyPoint: [UInt8]? { handle.publicKeyPoint }

  /// SHA-256 of the encoding, 32 octets.
  package var fingerprint: [UInt8] { SHA256.hash(der) }

  /// The subject in one line, for people.
  package var subject: String { handle.subject }

  /// The value of the extension with that identifier, numbers and dots.
  package func value(ofExtension identifier: String) -> [UInt8]? {
    extensions.first { $0.identifier == identifier }?.value
  }

  /// OpenSSL's certificate, for the time of `body`.
  func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result { unsafe handle.withPointer(body) }

  /// The same encoding.
  package static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }

  /// The chain from this certificate to one of `anchors`, both ends included, when every rule of RFC 5280 §6
  /// holds at `time`, seconds since 1970.
  ///
  /// Any extended key usage and any extension that is unknown and not critical are accepted: Apple adds both
  /// without notice. `intermediates` may stand in any order and are not trusted.
  package func chain(
    through intermediates: [Certificate], to anchors: [Certificate], at time: Int64
  ) throws(CertificateError) -> [Certificate] {
    let outcome = X509Chain.build(
      leaf: handle, intermediates: intermediates.map(\.handle), anchors: anchors.map(\.handle), time: time)
    switch outcome {
    case .failure(let error): throw error
    case .success(let handles):
      var chain: [Certificate] = []
      for handle in handles {
        guard let der = handle.der else { throw .malformed }
        chain.append(try Certificate(handle, der: der))
      }
      return chain
    }
  }
}
