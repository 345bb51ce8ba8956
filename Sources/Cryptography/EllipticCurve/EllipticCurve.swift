import COpenSSL

/// The NIST curves that Apple's certificates use.
enum EllipticCurve: Sendable {
  case p256
  case p384

  /// Octets of a coordinate and of a private key.
  var fieldLength: Int {
    switch self {
    case .p256: 32
    case .p384: 48
    }
  }

  /// Octets of an uncompressed point.
  var pointLength: Int { 1 + 2 * fieldLength }

  var identifier: Int32 {
    switch self {
    case .p256: NID_X9_62_prime256v1
    case .p384: NID_secp384r1
    }
  }

  /// The curve's name to OpenSSL; the pointer is of static storage.
  var name: UnsafePointer<CChar>? {
    switch self {
    case .p256: unsafe bramley_p256()
    case .p384: unsafe bramley_p384()
    }
  }
}
