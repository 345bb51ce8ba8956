import COpenSSL

extension EVPKey {
  /// A public RSA key of its numbers, big endian.
  static func make(modulus: [UInt8], exponent: [UInt8]) -> OpaquePointer? {
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    guard unsafe EVP_PKEY_fromdata_init(context) == 1 else { return nil }
    // OSSL_PARAM takes integers in the machine's order.
    var modulus = Array(modulus.reversed())
    var exponent = Array(exponent.reversed())
    var key: OpaquePointer?
    let made = unsafe modulus.withUnsafeMutableBufferPointer { modulus in
      unsafe exponent.withUnsafeMutableBufferPointer { exponent in
        var parameters = unsafe [
          OSSL_PARAM_construct_BN(bramley_param_modulus(), modulus.baseAddress, modulus.count),
          OSSL_PARAM_construct_BN(bramley_param_exponent(), exponent.baseAddress, exponent.count),
          OSSL_PARAM_construct_end(),
        ]
        return unsafe EVP_PKEY_fromdata(context, &key, bramley_pkey_public, &parameters)
      }
    }
    guard made == 1 else {
      unsafe EVP_PKEY_free(key)
      clearErrors()
      return nil
    }
    return unsafe key
  }

  /// A fresh RSA key with OpenSSL's exponent, 65,537.
  static func generateRSA(bits: Int) -> OpaquePointer? {
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard unsafe EVP_PKEY_keygen_init(context) == 1,
      unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1,
      unsafe EVP_PKEY_generate(context, &key) == 1
    else {
      unsafe EVP_PKEY_free(key)
      clearErrors()
      return nil
    }
    return unsafe key
  }

  /// Modulus and exponent of `key`, big endian; nil when it is no RSA key.
  static func numbers(of key: OpaquePointer) -> (modulus: [UInt8], exponent: [UInt8])? {
    guard unsafe EVP_PKEY_is_a(key, "RSA") == 1,
      let modulus = unsafe number(bramley_param_modulus(), of: key),
      let exponent = unsafe number(bramley_param_exponent(), of: key)
    else {
      clearErrors()
      return nil
    }
    return (modulus, exponent)
  }

  private static func number(_ name: UnsafePointer<CChar>?, of key: OpaquePointer) -> [UInt8]? {
    var number: OpaquePointer?
    guard unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1 else { return nil }
    defer { unsafe BN_free(number) }
    let length = unsafe (Int(BN_num_bits(number)) + 7) / 8
    return unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      count = unsafe BN_bn2binpad(number, buffer.baseAddress, Int32(length)) == length ? length : 0
    }
  }
}
