import COpenSSL

/// A key of OpenSSL with a context kept ready: making both anew costs a third of an ECDSA verification.
///
/// The key is only read after it is made, which OpenSSL allows from any thread; the kept context is used by
/// whoever gets its lock, others make their own.
@safe final class EVPKey: @unchecked Sendable {
  enum Use {
    case verify
    case sign
  }

  /// The one scheme that a key is used with.
  enum Scheme {
    case ecdsa
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2).
    case rsaSHA256
  }

  private let key: OpaquePointer
  private let kept: OpaquePointer
  private let scheme: Scheme
  private let use: Use
  private let lock = Lock()

  /// Takes over `key`, which must be of the scheme's kind.
  init(taking key: OpaquePointer, scheme: Scheme, use: Use) throws(CryptographyError) {
    guard let context = unsafe Self.context(key, scheme, use) else {
      unsafe EVP_PKEY_free(key)
      throw .libraryFailure
    }
    self.scheme = scheme
    self.use = use
    unsafe self.key = key
    unsafe kept = context
  }

  deinit {
    unsafe EVP_PKEY_CTX_free(kept)
    unsafe EVP_PKEY_free(key)
  }

  /// The key, for the time of `body`.
  func withKey<Result>(_ body: (OpaquePointer) -> Result) -> Result { unsafe body(key) }

  /// A context that is this caller's alone for the time of `body`; nil when there is no memory for one.
  func withContext<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
    if lock.tryLock() {
      defer { lock.unlock() }
      return unsafe body(kept)
    }
    guard let context = unsafe Self.context(key, scheme, use) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    return unsafe body(context)
  }

  private static func context(_ key: OpaquePointer, _ scheme: Scheme, _ use: Use) -> OpaquePointer? {
    guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
    let ready =
      switch use {
      case .verify: unsafe EVP_PKEY_verify_init(context)
      case .sign: unsafe EVP_PKEY_sign_init(context)
      }
    let fixed =
      switch scheme {
      case .ecdsa: true
      case .rsaSHA256:
        unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
          && EVP_PKEY_CTX_set_signature_md(context, Digest.sha256) == 1
      }
    guard ready == 1, fixed else {
      unsafe EVP_PKEY_CTX_free(context)
      clearErrors()
      return nil
    }
    return unsafe context
  }

  /// Whether `signature`, in the scheme's encoding, is the key's over a message with that SHA-256 digest.
  func verifies(_ signature: [UInt8], digest: [UInt8]) -> Bool {
    guard digest.count == SHA256.length else { return false }
    let verdict = unsafe withContext { context in
      unsafe signature.withUnsafeBufferPointer { signature in
        unsafe digest.withUnsafeBufferPointer { digest in
          unsafe EVP_PKEY_verify(
            context, signature.baseAddress, signature.count, digest.baseAddress, digest.count)
        }
      }
    }
    if verdict == 1 { return true }
    clearErrors()
    return false
  }

  /// A signature over a message with that SHA-256 digest, of at most `capacity` octets.
  func sign(digest: [UInt8], capacity: Int) throws(CryptographyError) -> [UInt8] {
    let signature = unsafe withContext { context in
      unsafe digest.withUnsafeBufferPointer { digest in
        unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
          var length = capacity
          let signed = unsafe EVP_PKEY_sign(
            context, buffer.baseAddress, &length, digest.baseAddress, digest.count)
          count = signed == 1 ? length : 0
        }
      }
    }
    guard let signature, !signature.isEmpty else {
      clearErrors()
      throw .libraryFailure
    }
    return signature
  }

  /// The private key that a PKCS#8 (or older) PEM text holds, of whatever kind; nil when there is none.
  static func privateKey(pem: String) -> OpaquePointer? {
    let text = Array(pem.utf8)
    guard text.count <= 16_384 else { return nil }
    let parsed = unsafe text.withUnsafeBytes { buffer -> OpaquePointer? in
      guard let input = unsafe BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
      defer { unsafe BIO_free(input) }
      // An empty passphrase instead of a question at the terminal.
      return unsafe PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in 0 }, nil)
    }
    if unsafe parsed == nil { clearErrors() }
    return unsafe parsed
  }

  /// PKCS#8 PEM of a private key: a secret.
  var pem: String {
    get throws(CryptographyError) {
      guard let output = unsafe BIO_new(BIO_s_mem()) else { throw .libraryFailure }
      defer { unsafe BIO_free(output) }
      guard unsafe PEM_write_bio_PKCS8PrivateKey(output, key, nil, nil, 0, nil, nil) == 1 else {
        clearErrors()
        throw .libraryFailure
      }
      return String(decoding: unsafe contents(of: output), as: UTF8.self)
    }
  }
}

/// What was written to a memory BIO.
func contents(of output: OpaquePointer) -> [UInt8] {
  let length = unsafe BIO_ctrl_pending(output)
  return unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
    count = unsafe max(0, Int(BIO_read(output, buffer.baseAddress, Int32(length))))
  }
}
