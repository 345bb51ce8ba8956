import Cryptography
import Encodings

/// Seals what is kept in the database, each use under a key of its own that is derived from the configured one
/// and bound to where the value stands.
struct Sealer: Sendable {
  /// What is sealed.
  enum Use: String, Sendable {
    case signingKey = "bramley-seal-signing-key-v1"
    case refreshSecret = "bramley-seal-refresh-secret-v1"
    case appleToken = "bramley-seal-apple-token-v1"
  }

  private let keys: [(name: String, key: [UInt8])]

  init(_ configured: [Configuration.Auth.SealingKey]) {
    keys = configured.compactMap { key in Self.octets(key.key).map { (key.name, $0) } }
  }

  /// Whether there is a key to seal with.
  var canSeal: Bool { !keys.isEmpty }

  /// The ciphertext and the name of its key; nil where no key is configured.
  ///
  /// - Parameter place: what the value belongs to; it opens nowhere else.
  func seal(_ plaintext: [UInt8], _ use: Use, place: String) throws(CryptographyError) -> (
    key: String, sealed: [UInt8]
  )? {
    guard let (name, key) = keys.first else { return nil }
    return (name, try AES256GCM.seal(plaintext, key: derive(key, use), authenticated: Array(place.utf8)))
  }

  /// The plaintext; throws `invalidKey` for the name of a key that is not configured.
  func open(_ sealed: [UInt8], key name: String, _ use: Use, place: String) throws(CryptographyError)
    -> [UInt8]
  {
    guard let (_, key) = keys.first(where: { $0.name == name }) else { throw .invalidKey }
    return try AES256GCM.open(sealed, key: derive(key, use), authenticated: Array(place.utf8))
  }

  private func derive(_ key: [UInt8], _ use: Use) -> [UInt8] {
    HKDFSHA256.derive(secret: key, label: use.rawValue, length: AES256GCM.keyLength)
  }

  /// The 32 octets that a secret spells, in hexadecimal digits or base64; nil for anything else.
  static func octets(_ secret: Secret) -> [UInt8]? {
    let octets = secret.value.utf8.count == 64 ? Hex.decode(secret.value) : Base64.decode(secret.value)
    return octets?.count == AES256GCM.keyLength ? octets : nil
  }
}
