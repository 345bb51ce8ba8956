import COpenSSL

/// A private EC key with its public point.
struct SigningKey: Sendable {
  let point: [UInt8]
  private let curve: EllipticCurve
  private let key: EVPKey

  init(generating curve: EllipticCurve) throws(CryptographyError) {
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .libraryFailure }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    var parameters = unsafe [
      OSSL_PARAM_construct_utf8_string(
        bramley_param_group(), UnsafeMutablePointer(mutating: curve.name), 0),
      OSSL_PARAM_construct_end(),
    ]
    guard unsafe EVP_PKEY_keygen_init(context) == 1,
      unsafe EVP_PKEY_CTX_set_params(context, &parameters) == 1,
      unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
    else {
      clearErrors()
      throw .libraryFailure
    }
    unsafe try self.init(taking: key, curve: curve)
  }

  init(scalar: [UInt8], curve: EllipticCurve) throws(CryptographyError) {
    guard scalar.count == curve.fieldLength else { throw .invalidLength }
    guard let point = Self.publicPoint(scalar: scalar, curve: curve),
      let key = unsafe EVPKey.make(curve: curve, point: point, scalar: scalar)
    else {
      clearErrors()
      throw .invalidKey
    }
    unsafe try self.init(taking: key, curve: curve)
  }

  init(pem: String, curve: EllipticCurve) throws(CryptographyError) {
    guard let key = unsafe EVPKey.privateKey(pem: pem) else { throw .invalidPEM }
    unsafe try self.init(taking: key, curve: curve)
  }

  /// Takes over `key`; throws `invalidKey` when it is of another curve.
  private init(taking key: OpaquePointer, curve: EllipticCurve) throws(CryptographyError) {
    guard unsafe Self.isOn(curve, key: key), let point = unsafe EVPKey.point(of: key, curve: curve) else {
      unsafe EVP_PKEY_free(key)
      clearErrors()
      throw .invalidKey
    }
    self.point = point
    self.curve = curve
    unsafe self.key = try EVPKey(taking: key, scheme: .ecdsa, use: .sign)
  }

  private static func isOn(_ curve: EllipticCurve, key: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    guard unsafe EVP_PKEY_get_group_name(key, &name, 64, &length) == 1 else { return false }
    let text = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return switch curve {
    case .p256: text == "prime256v1" || text == "P-256"
    case .p384: text == "secp384r1" || text == "P-384"
    }
  }

  var scalar: [UInt8] {
    get throws(CryptographyError) {
      let length = curve.fieldLength
      let octets = unsafe key.withKey { key -> [UInt8]? in
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key, bramley_param_private(), &number) == 1 else { return nil }
        defer { unsafe BN_clear_free(number) }
        return unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
          count = unsafe BN_bn2binpad(number, buffer.baseAddress, Int32(length)) == length ? length : 0
        }
      }
      guard let octets, octets.count == length else { throw .libraryFailure }
      return octets
    }
  }

  var pem: String {
    get throws(CryptographyError) { try key.pem }
  }

  func signature(digest: [UInt8]) throws(CryptographyError) -> [UInt8] {
    try key.sign(digest: digest, capacity: 16 + 2 * (curve.fieldLength + 1))
  }

  /// `scalar` times the base point; nil for a scalar that is 0 or not below the order.
  private static func publicPoint(scalar: [UInt8], curve: EllipticCurve) -> [UInt8]? {
    guard let group = unsafe EC_GROUP_new_by_curve_name(curve.identifier) else { return nil }
    defer { unsafe EC_GROUP_free(group) }
    guard let point = unsafe EC_POINT_new(group) else { return nil }
    defer { unsafe EC_POINT_free(point) }
    guard let number = unsafe BN_secure_new() else { return nil }
    defer { unsafe BN_clear_free(number) }
    guard unsafe BN_bin2bn(scalar, Int32(scalar.count), number) != nil,
      unsafe BN_is_zero(number) == 0, unsafe BN_cmp(number, EC_GROUP_get0_order(group)) < 0,
      unsafe EC_POINT_mul(group, point, number, nil, nil, nil) == 1
    else { return nil }
    let length = curve.pointLength
    let octets = unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      count = unsafe EC_POINT_point2oct(
        group, point, POINT_CONVERSION_UNCOMPRESSED, buffer.baseAddress, length, nil)
    }
    return octets.count == length ? octets : nil
  }
}
