import COpenSSL

/// SHA-256 (FIPS 180-4), at once or piece by piece.
@safe package struct SHA256: ~Copyable, @unchecked Sendable {
  /// 32 octets.
  package static let length = 32

  private let context: OpaquePointer?

  /// An empty message.
  package init() {
    unsafe context = EVP_MD_CTX_new()
    unsafe precondition(EVP_DigestInit_ex(context, Digest.sha256, nil) == 1, "SHA-256 is missing")
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  /// Appends to the message.
  package mutating func update(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { buffer in
      _ = unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
    }
  }

  /// Appends to the message.
  package mutating func update(_ bytes: ArraySlice<UInt8>) {
    unsafe bytes.withUnsafeBytes { buffer in
      _ = unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
    }
  }

  /// The digest of what was appended, 32 octets; the next message begins empty.
  package mutating func finish() -> [UInt8] {
    let digest = unsafe [UInt8](unsafeUninitializedCapacity: Self.length) { buffer, count in
      _ = unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
      count = Self.length
    }
    _ = unsafe EVP_DigestInit_ex(context, Digest.sha256, nil)
    return digest
  }

  /// The digest of `bytes`, 32 octets.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    unsafe bytes.withUnsafeBytes { unsafe hash($0) }
  }

  /// The digest of `bytes`, 32 octets.
  package static func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    unsafe bytes.withUnsafeBytes { unsafe hash($0) }
  }

  /// The digest of the text's UTF-8, 32 octets.
  package static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)) }

  private static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      let done = unsafe EVP_Digest(
        bytes.baseAddress, bytes.count, buffer.baseAddress, nil, Digest.sha256, nil)
      precondition(done == 1, "SHA-256 failed")
      count = length
    }
  }
}
