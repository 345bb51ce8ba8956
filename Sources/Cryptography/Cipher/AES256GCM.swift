import COpenSSL

/// AES-256-GCM (NIST SP 800-38D): for what is kept encrypted.
package enum AES256GCM {
  /// Octets of a key.
  package static let keyLength = 32
  /// Octets of the nonce that stands before the ciphertext.
  package static let nonceLength = 12
  /// Octets of the tag that stands after it.
  package static let tagLength = 16

  private nonisolated(unsafe) static let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

  /// nonce ‖ ciphertext ‖ tag, under a fresh random nonce. `authenticated` is bound but not contained.
  ///
  /// A key may seal 2^32 messages (SP 800-38D §8.3). Throws `invalidLength` for a key of another length.
  package static func seal(
    _ plaintext: [UInt8], key: [UInt8], authenticated: [UInt8] = []
  ) throws(CryptographyError) -> [UInt8] {
    try seal(plaintext, key: key, nonce: SecureRandom.bytes(nonceLength), authenticated: authenticated)
  }

  /// The same with the nonce given, for test vectors alone: a nonce used twice gives the key away.
  static func seal(
    _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticated: [UInt8]
  ) throws(CryptographyError) -> [UInt8] {
    guard key.count == keyLength, nonce.count == nonceLength, let size = Int32(exactly: plaintext.count),
      let authenticatedSize = Int32(exactly: authenticated.count)
    else { throw .invalidLength }
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var length: Int32 = 0
    var out = nonce + [UInt8](repeating: 0, count: plaintext.count + tagLength)
    let done = unsafe out.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return false }
      return unsafe EVP_EncryptInit_ex2(context, cipher, key, nonce, nil) == 1
        && (authenticated.isEmpty
          || EVP_EncryptUpdate(context, nil, &length, authenticated, authenticatedSize) == 1)
        && (size == 0 || EVP_EncryptUpdate(context, start + nonceLength, &length, plaintext, size) == 1)
        && EVP_EncryptFinal_ex(context, start + nonceLength + plaintext.count, &length) == 1
        && EVP_CIPHER_CTX_ctrl(
          context, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), start + nonceLength + plaintext.count) == 1
    }
    guard done else {
      clearErrors()
      throw .libraryFailure
    }
    return out
  }

  /// The plaintext of nonce ‖ ciphertext ‖ tag; throws `authenticationFailure` unless all of it, the key and
  /// `authenticated` are what was sealed.
  package static func open(
    _ sealed: [UInt8], key: [UInt8], authenticated: [UInt8] = []
  ) throws(CryptographyError) -> [UInt8] {
    guard key.count == keyLength, let authenticatedSize = Int32(exactly: authenticated.count) else {
      throw .invalidLength
    }
    guard sealed.count >= nonceLength + tagLength,
      let size = Int32(exactly: sealed.count - nonceLength - tagLength)
    else { throw .authenticationFailure }
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var length: Int32 = 0
    var tag = Array(sealed.suffix(tagLength))
    var plaintext = [UInt8](repeating: 0, count: Int(size) + 1)
    let done = unsafe sealed.withUnsafeBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return false }
      return unsafe EVP_DecryptInit_ex2(context, cipher, key, start, nil) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagLength), &tag) == 1
        && (authenticated.isEmpty
          || EVP_DecryptUpdate(context, nil, &length, authenticated, authenticatedSize) == 1)
        && (size == 0 || EVP_DecryptUpdate(context, &plaintext, &length, start + nonceLength, size) == 1)
        && EVP_DecryptFinal_ex(context, nil, &length) == 1
    }
    guard done else {
      clearErrors()
      throw .authenticationFailure
    }
    plaintext.removeLast()
    return plaintext
  }
}
