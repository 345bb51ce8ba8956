package import Accounts
import Cryptography
import Encodings

/// The keys of access tokens as the database has them, opened and parsed, kept for a while: every node has the
/// same.
package actor SigningKeys {
  /// Milliseconds from the publication of a key to its first signature: clients and nodes keep what they read
  /// for ten minutes at most.
  static let notice: Int64 = 900_000
  /// Milliseconds after which a new key is made.
  static let period: Int64 = 30 * 86_400_000
  /// Milliseconds after which the keys are read again, so that a rotation reaches every node.
  private static let refresh: Int64 = 60_000
  /// Milliseconds between two readings that unknown keys cause: a stranger can name any number of those.
  private static let hurry: Int64 = 5_000

  private struct Key {
    let stored: StoredSigningKey
    let privateKey: P256.PrivateKey
    let publicKey: P256.PublicKey
  }

  private let store: any SigningKeyStore
  private let sealer: Sealer
  /// Milliseconds that a token lives at most.
  private let lifetime: Int64
  private var keys: [Key] = []
  private var readAt: Int64?

  package init(_ store: any SigningKeyStore, _ auth: Configuration.Auth) {
    self.store = store
    sealer = Sealer(auth.sealingKeys)
    lifetime = auth.accessTokenLifetime * 1000
  }

  /// A token with these claims, signed by the key whose turn it is. `now` in milliseconds. Throws a ``Failure``.
  func sign(_ claims: JSONValue, now: Int64) async throws -> String {
    let keys = try await current(now)
    let ready = keys.filter { $0.stored.activeFrom <= now }
    // A clock that went back finds none ready: then the first one is.
    guard
      let key = ready.max(by: { $0.stored.activeFrom < $1.stored.activeFrom })
        ?? keys.min(by: { $0.stored.activeFrom < $1.stored.activeFrom })
    else { throw Failure.storage(CryptographyError.invalidKey) }
    do {
      return try ES256.sign(claims, kid: key.stored.kid, key: key.privateKey)
    } catch {
      throw Failure.storage(error)
    }
  }

  /// The claims of a token whose signature is one of ours; whether its time is over is the caller's to say.
  /// Throws a ``Failure``.
  func verify(_ text: String, now: Int64) async throws -> JSONNode {
    do {
      let token = try JWS.Compact(parsing: text)
      do {
        try ES256.verify(token, keys: try await publicKeys(now))
      } catch JOSEError.unknownKey {
        guard let readAt, now < readAt || now - readAt >= Self.hurry else { throw JOSEError.unknownKey }
        self.readAt = nil
        try ES256.verify(token, keys: try await publicKeys(now))
      }
      // Ours by its signature: as deep as what users, operators and hooks may have put there.
      return try token.claims(maximumDepth: 64)
    } catch let error as JOSEError {
      throw Failure.badJWT(error.description)
    }
  }

  /// The set that is published (RFC 7517 §5).
  func published(now: Int64) async throws -> JWKSet {
    JWKSet(try await current(now).map { JWK(.p256($0.publicKey), kid: $0.stored.kid) })
  }

  /// What the database has, oldest first, and everything that was sealed opened. Throws a ``Failure``.
  package func list(now: Int64) async throws -> [StoredSigningKey] { try await current(now).map(\.stored) }

  /// Makes a new key when the newest is old enough, or at once; its name, or nil where nothing was to do.
  @discardableResult package func rotate(now: Int64, atOnce: Bool = false) async throws -> String? {
    readAt = nil
    let keys = try await current(now)
    guard let newest = keys.max(by: { $0.stored.activeFrom < $1.stored.activeFrom }) else { return nil }
    guard atOnce || now - newest.stored.activeFrom >= Self.period else { return nil }
    let next = try fresh(activeFrom: now + Self.notice)
    readAt = nil
    let isRotated = try await store.rotate(
      to: next, after: newest.stored.kid, keepUntil: next.activeFrom + lifetime + Self.refresh, now: now)
    return isRotated ? next.kid : nil
  }

  private func publicKeys(_ now: Int64) async throws -> [String: P256.PublicKey] {
    Dictionary(
      try await current(now).map { ($0.stored.kid, $0.publicKey) }, uniquingKeysWith: { first, _ in first })
  }

  private func current(_ now: Int64) async throws -> [Key] {
    // Also when the clock went back: better read once too often.
    if let readAt, now >= readAt, now - readAt < Self.refresh { return keys }
    do {
      keys = try await store.signingKeys(fresh: try fresh(activeFrom: now), now: now).map { try open($0) }
      readAt = now
      return keys
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      // What was read before holds still: keys are published for longer than any outage of a minute.
      if !keys.isEmpty { return keys }
      throw Failure.storage(error)
    }
  }

  private func fresh(activeFrom: Int64) throws(CryptographyError) -> StoredSigningKey {
    let key = try P256.PrivateKey()
    let kid = JWK.thumbprint(of: .p256(try key.publicKey))
    let scalar = try key.scalar
    let sealed = try sealer.seal(scalar, .signingKey, place: kid)
    return StoredSigningKey(
      kid: kid, sealingKey: sealed?.key, material: sealed?.sealed ?? scalar, activeFrom: activeFrom)
  }

  private func open(_ stored: StoredSigningKey) throws(CryptographyError) -> Key {
    let scalar =
      if let name = stored.sealingKey {
        try sealer.open(stored.material, key: name, .signingKey, place: stored.kid)
      } else {
        stored.material
      }
    let privateKey = try P256.PrivateKey(scalar: scalar)
    return Key(stored: stored, privateKey: privateKey, publicKey: try privateKey.publicKey)
  }
}
