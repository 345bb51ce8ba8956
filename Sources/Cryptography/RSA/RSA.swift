import COpenSSL

/// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2) and nothing else of RSA: what Apple signs identity tokens with.
package enum RSA {
  /// The shortest modulus that is taken, bits (RFC 7518 §3.3).
  package static let minimumBits = 2_048
  /// The longest, bits: what a verification costs must have a bound.
  package static let maximumBits = 8_192

  /// A public key, parsed once and used from any thread.
  package struct PublicKey: Sendable, Equatable {
    /// The modulus n, big endian, without leading zeros.
    package let modulus: [UInt8]
    /// The exponent e, big endian, without leading zeros.
    package let exponent: [UInt8]
    private let key: EVPKey

    /// The key of its two numbers, big endian. Throws `invalidKey` for a modulus that is even or not of 2,048 to
    /// 8,192 bits, and for an exponent that is even, below 65,537 or longer than four octets.
    package init(modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) {
      let modulus = Array(modulus.drop { $0 == 0 })
      let exponent = Array(exponent.drop { $0 == 0 })
      guard (minimumBits...maximumBits).contains(Self.bits(modulus)), Self.isOdd(modulus),
        (17...32).contains(Self.bits(exponent)), Self.isOdd(exponent),
        let key = unsafe EVPKey.make(modulus: modulus, exponent: exponent)
      else { throw .invalidKey }
      self.modulus = modulus
      self.exponent = exponent
      unsafe self.key = try EVPKey(taking: key, scheme: .rsaSHA256, use: .verify)
    }

    /// Whether `signature`, exactly as long as the modulus, is this key's over `message`. SHA-256 is applied to
    /// the message here.
    package func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
      signature.count == modulus.count && key.verifies(signature, digest: SHA256.hash(message))
    }

    /// The same numbers.
    package static func == (left: PublicKey, right: PublicKey) -> Bool {
      left.modulus == right.modulus && left.exponent == right.exponent
    }

    private static func bits(_ number: [UInt8]) -> Int {
      number.count * 8 - (number.first?.leadingZeroBitCount ?? 0)
    }

    private static func isOdd(_ number: [UInt8]) -> Bool { (number.last ?? 0) & 1 == 1 }
  }

  /// A private key, for whoever plays Apple. It has no description of its own, so that none is printed by
  /// mistake.
  package struct PrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The public key.
    package let publicKey: PublicKey
    private let key: EVPKey

    /// A fresh key of so many bits with the exponent 65,537; throws `invalidLength` for other than 2,048 to
    /// 8,192. Takes a tenth of a second and more.
    package init(bits: Int = 2_048) throws(CryptographyError) {
      guard (minimumBits...maximumBits).contains(bits) else { throw .invalidLength }
      guard let key = unsafe EVPKey.generateRSA(bits: bits) else { throw .libraryFailure }
      unsafe try self.init(taking: key)
    }

    /// The key in a PKCS#8 PEM text; throws `invalidPEM` or, for another kind of key, `invalidKey`.
    package init(pem: String) throws(CryptographyError) {
      guard let key = unsafe EVPKey.privateKey(pem: pem) else { throw .invalidPEM }
      unsafe try self.init(taking: key)
    }

    private init(taking pointer: OpaquePointer) throws(CryptographyError) {
      guard let (modulus, exponent) = unsafe EVPKey.numbers(of: pointer) else {
        unsafe EVP_PKEY_free(pointer)
        throw .invalidKey
      }
      key = unsafe try EVPKey(taking: pointer, scheme: .rsaSHA256, use: .sign)
      publicKey = try PublicKey(modulus: modulus, exponent: exponent)
    }

    /// PKCS#8 PEM: a secret.
    package var pem: String {
      get throws(CryptographyError) { try key.pem }
    }

    /// A signature over `message`, to which SHA-256 is applied here; as long as the modulus.
    package func signature(for message: [UInt8]) throws(CryptographyError) -> [UInt8] {
      try key.sign(digest: SHA256.hash(message), capacity: publicKey.modulus.count)
    }

    /// The type's name alone.
    package var description: String { "RSA.PrivateKey" }
    /// Nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
  }
}
