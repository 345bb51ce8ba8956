import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
  private nonisolated(unsafe) static let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil)

  /// The code of `message` under `key`, 32 octets.
  package static func code(for message: [UInt8], key: [UInt8]) -> [UInt8] {
    let context = unsafe EVP_MAC_CTX_new(algorithm)
    defer { unsafe EVP_MAC_CTX_free(context) }
    var parameters = unsafe [
      OSSL_PARAM_construct_utf8_string(
        bramley_param_digest(), UnsafeMutablePointer(mutating: bramley_sha256()), 0),
      OSSL_PARAM_construct_end(),
    ]
    // An empty key is a key of zeros (RFC 2104 §2); OpenSSL takes a length of 0 for "no key given".
    let key = key.isEmpty ? [0] : key
    let ready = unsafe EVP_MAC_init(context, key, key.count, &parameters)
    precondition(ready == 1, "HMAC-SHA256 is missing")
    unsafe message.withUnsafeBufferPointer { buffer in
      _ = unsafe EVP_MAC_update(context, buffer.baseAddress, buffer.count)
    }
    return unsafe [UInt8](unsafeUninitializedCapacity: SHA256.length) { buffer, count in
      var length = 0
      let done = unsafe EVP_MAC_final(context, buffer.baseAddress, &length, SHA256.length)
      precondition(done == 1, "HMAC-SHA256 failed")
      count = length
    }
  }
}
