import COpenSSL

extension EVPKey {
  /// A key of its parts: an uncompressed point, and with `scalar` also the private key (big endian).
  static func make(curve: EllipticCurve, point: [UInt8], scalar: [UInt8]?) -> OpaquePointer? {
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { return nil }
    var point = point
    // OSSL_PARAM takes integers in the machine's order.
    var number = Array((scalar ?? []).reversed())
    var key: OpaquePointer?
    let made = unsafe point.withUnsafeMutableBytes { octets in
      unsafe number.withUnsafeMutableBytes { integer in
        var parameters = unsafe [
          OSSL_PARAM_construct_utf8_string(
            bramley_param_group(), UnsafeMutablePointer(mutating: curve.name), 0),
          OSSL_PARAM_construct_octet_string(bramley_param_public(), octets.baseAddress, octets.count),
        ]
        if scalar != nil {
          unsafe parameters.append(
            OSSL_PARAM_construct_BN(
              bramley_param_private(), integer.baseAddress?.assumingMemoryBound(to: UInt8.self),
              integer.count))
        }
        unsafe parameters.append(OSSL_PARAM_construct_end())
        return unsafe EVP_PKEY_fromdata(
          context, &key, scalar == nil ? bramley_pkey_public : bramley_pkey_pair, &parameters)
      }
    }
    unsafe number.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    guard made == 1 else {
      unsafe EVP_PKEY_free(key)
      clearErrors()
      return nil
    }
    return unsafe key
  }

  /// The uncompressed point of `key`; nil when it is no EC key of the curve.
  static func point(of key: OpaquePointer, curve: EllipticCurve) -> [UInt8]? {
    var length = 0
    let length0 = curve.pointLength
    let point = unsafe [UInt8](unsafeUninitializedCapacity: length0 + 1) { buffer, count in
      let read = unsafe EVP_PKEY_get_octet_string_param(
        key, bramley_param_public(), buffer.baseAddress, length0 + 1, &length)
      count = read == 1 ? length : 0
    }
    guard point.count == length0, point.first == 4 else {
      clearErrors()
      return nil
    }
    return point
  }
}
