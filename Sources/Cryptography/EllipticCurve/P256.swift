/// ECDSA over P-256 with SHA-256 (FIPS 186-5): what App Attest, Sign in with Apple and our tokens sign with.
package enum P256 {
  /// A public key, parsed once and used from any thread.
  package struct PublicKey: Sendable, Equatable {
    /// The X9.63 uncompressed point, 65 octets.
    package let point: [UInt8]
    private let key: EVPKey

    /// The key of an uncompressed point; throws `invalidKey` for another length or form, or a point that is
    /// not on the curve.
    package init(point: [UInt8]) throws(CryptographyError) {
      guard point.count == EllipticCurve.p256.pointLength, point.first == 4,
        let key = unsafe EVPKey.make(curve: .p256, point: point, scalar: nil)
      else { throw .invalidKey }
      self.point = point
      unsafe self.key = try EVPKey(taking: key, scheme: .ecdsa, use: .verify)
    }

    /// Whether `signature` (DER, RFC 3279 §2.2.3) is this key's over `message`. SHA-256 is applied to the
    /// message here.
    package func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
      isValid(signature: signature, digest: SHA256.hash(message))
    }

    /// Whether `signature` (DER) is this key's over a message with that SHA-256 digest.
    package func isValid(signature: [UInt8], digest: [UInt8]) -> Bool {
      key.verifies(signature, digest: digest)
    }

    /// The same point.
    package static func == (left: PublicKey, right: PublicKey) -> Bool { left.point == right.point }
  }

  /// A private key. It has no description of its own, so that none is printed by mistake.
  package struct PrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: SigningKey

    /// A fresh key.
    package init() throws(CryptographyError) { key = try SigningKey(generating: .p256) }

    /// The key of a big-endian scalar of 32 octets; throws `invalidKey` for 0 and for the order and above.
    package init(scalar: [UInt8]) throws(CryptographyError) {
      key = try SigningKey(scalar: scalar, curve: .p256)
    }

    /// The key in a PKCS#8 PEM text, as Apple's `.p8` files are; throws `invalidPEM` or, for another kind of
    /// key, `invalidKey`.
    package init(pem: String) throws(CryptographyError) { key = try SigningKey(pem: pem, curve: .p256) }

    /// The X9.63 uncompressed point of the public key, 65 octets.
    package var point: [UInt8] { key.point }

    /// The public key.
    package var publicKey: PublicKey {
      get throws(CryptographyError) { try PublicKey(point: key.point) }
    }

    /// The big-endian scalar, 32 octets: a secret.
    package var scalar: [UInt8] {
      get throws(CryptographyError) { try key.scalar }
    }

    /// PKCS#8 PEM: a secret.
    package var pem: String {
      get throws(CryptographyError) { try key.pem }
    }

    /// An ECDSA signature in DER over `message`, to which SHA-256 is applied here.
    package func signature(for message: [UInt8]) throws(CryptographyError) -> [UInt8] {
      try key.signature(digest: SHA256.hash(message))
    }

    /// The type's name alone.
    package var description: String { "P256.PrivateKey" }
    /// Nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
  }
}

/// ECDSA over P-384 with SHA-256, as Apple's App Attest authority signs its leaves.
package enum P384 {
  /// A private key of a certificate authority.
  package struct PrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: SigningKey

    /// A fresh key.
    package init() throws(CryptographyError) { key = try SigningKey(generating: .p384) }

    /// The key in a PKCS#8 PEM text; throws `invalidPEM` or, for another kind of key, `invalidKey`.
    package init(pem: String) throws(CryptographyError) { key = try SigningKey(pem: pem, curve: .p384) }

    /// The X9.63 uncompressed point of the public key, 97 octets.
    package var point: [UInt8] { key.point }

    /// PKCS#8 PEM: a secret.
    package var pem: String {
      get throws(CryptographyError) { try key.pem }
    }

    /// An ECDSA signature in DER over `message`, to which SHA-256 is applied here.
    package func signature(for message: [UInt8]) throws(CryptographyError) -> [UInt8] {
      try key.signature(digest: SHA256.hash(message))
    }

    /// The type's name alone.
    package var description: String { "P384.PrivateKey" }
    /// Nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
  }
}
