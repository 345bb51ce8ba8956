/// Why a certificate or its chain is refused.
package enum CertificateError: Error, Equatable, Sendable {
  /// The octets are no X.509 certificate, something follows it, or an extension stands in it twice.
  case malformed
  /// A certificate of the chain ended before that time.
  case expired
  /// A certificate of the chain begins after that time.
  case notYetValid
  /// No path leads to one of the trust anchors.
  case untrusted
  /// A signature of the chain does not hold.
  case badSignature
  /// Another rule of RFC 5280 §6 is broken, such as a critical extension that is not understood or a leaf
  /// that signs; OpenSSL's code of it (X509_V_ERR_…).
  case invalid(code: Int32)
}
