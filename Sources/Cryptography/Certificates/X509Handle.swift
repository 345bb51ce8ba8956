import COpenSSL
import Glibc

/// An X509 of OpenSSL. It is not changed after it is parsed, apart from what OpenSSL caches under its own
/// lock.
@safe final class X509Handle: @unchecked Sendable {
  private let certificate: OpaquePointer

  /// Takes over `certificate`.
  init(taking certificate: OpaquePointer) { unsafe self.certificate = certificate }

  /// The certificate that `der` is, to its last octet.
  init?(der: [UInt8]) {
    guard let length = Int(exactly: Int32(clamping: der.count)), length == der.count else { return nil }
    let parsed = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var cursor = buffer.baseAddress
      guard let parsed = unsafe d2i_X509(nil, &cursor, length) else { return nil }
      guard unsafe cursor == buffer.baseAddress.map({ unsafe $0 + length }) else {
        unsafe X509_free(parsed)
        return nil
      }
      return unsafe parsed
    }
    guard let parsed = unsafe parsed else {
      clearErrors()
      return nil
    }
    unsafe certificate = parsed
  }

  deinit { unsafe X509_free(certificate) }

  /// The certificate, for the time of `body`.
  func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result { unsafe body(certificate) }

  /// The encoding; nil when there is no memory for it.
  var der: [UInt8]? {
    var output: UnsafeMutablePointer<UInt8>?
    let length = unsafe i2d_X509(certificate, &output)
    guard length > 0, let start = unsafe output else { return nil }
    defer { unsafe CRYPTO_free(start, nil, 0) }
    return unsafe Array(UnsafeBufferPointer(start: start, count: Int(length)))
  }

  /// Extensions in their order; nil when one stands twice or has an identifier that has no text.
  var extensions: [CertificateExtension]? {
    let count = unsafe X509_get_ext_count(certificate)
    var extensions: [CertificateExtension] = []
    for index in 0..<max(0, count) {
      let one = unsafe X509_get_ext(certificate, index)
      guard let identifier = unsafe dottedText(X509_EXTENSION_get_object(one)),
        let value = unsafe X509_EXTENSION_get_data(one),
        !extensions.contains(where: { $0.identifier == identifier })
      else { return nil }
      unsafe extensions.append(
        CertificateExtension(
          identifier: identifier, isCritical: X509_EXTENSION_get_critical(one) > 0,
          value: octets(of: value)))
    }
    return extensions
  }

  /// The uncompressed point of an EC key of P-256 or P-384; nil for other keys.
  var publicKeyPoint: [UInt8]? {
    guard let key = unsafe X509_get0_pubkey(certificate), unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC
    else {
      clearErrors()
      return nil
    }
    return unsafe EVPKey.point(of: key, curve: .p256) ?? EVPKey.point(of: key, curve: .p384)
  }

  /// Seconds since 1970; nil for a time that is none.
  var notBefore: Int64? { unsafe seconds(X509_get0_notBefore(certificate)) }
  var notAfter: Int64? { unsafe seconds(X509_get0_notAfter(certificate)) }

  /// The subject in one line.
  var subject: String {
    var text = [CChar](repeating: 0, count: 512)
    unsafe X509_NAME_oneline(X509_get_subject_name(certificate), &text, Int32(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The octets of an ASN1_STRING.
func octets(of string: UnsafePointer<ASN1_STRING>) -> [UInt8] {
  unsafe Array(
    UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(max(0, ASN1_STRING_length(string)))))
}

/// An object identifier as numbers and dots; nil for one of over 127 characters.
private func dottedText(_ object: OpaquePointer?) -> String? {
  var text = [CChar](repeating: 0, count: 128)
  let length = unsafe OBJ_obj2txt(&text, 128, object, 1)
  guard length > 0, length < 128 else { return nil }
  return String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

private func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
  var fields = unsafe tm()
  guard unsafe time != nil, unsafe ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
  return unsafe Int64(timegm(&fields))
}
