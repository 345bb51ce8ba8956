import Accounts
import Cryptography

/// The secrets of refresh tokens as the database has them, kept for a while: every node has the same.
actor RefreshSecrets {
  /// Milliseconds between two readings that unreadable tokens cause: a stranger can make any number of those.
  private static let hurry: Int64 = 60_000

  private let store: any SigningKeyStore
  private let sealer: Sealer
  private let random: @Sendable (Int) -> [UInt8]
  private var tokens: RefreshTokens?
  private var readAt: Int64 = 0

  init(_ store: any SigningKeyStore, sealer: Sealer, random: @escaping @Sendable (Int) -> [UInt8]) {
    self.store = store
    self.sealer = sealer
    self.random = random
  }

  /// The text of the session's current token. `now` in milliseconds. Throws a ``Failure``.
  func current(of session: Session, now: Int64) async throws -> String {
    guard let text = try await tokens(now).current(of: session) else {
      throw Failure.storage(MissingSecret())
    }
    return text
  }

  /// What the text says, where it was made here; nil for anything else.
  func read(_ text: String, now: Int64) async throws -> RefreshToken? {
    if let token = try await tokens(now).read(text) { return token }
    guard text.utf8.count == RefreshTokens.length, now < readAt || now - readAt >= Self.hurry else {
      return nil
    }
    // Another node may have made a secret since.
    tokens = nil
    return try await tokens(now).read(text)
  }

  private struct MissingSecret: Error {}

  private func tokens(_ now: Int64) async throws -> RefreshTokens {
    if let tokens { return tokens }
    do {
      let stored = try await store.refreshSecrets(fresh: try fresh())
      let made = RefreshTokens(secrets: try stored.map { try open($0) })
      tokens = made
      readAt = now
      return made
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw Failure.storage(error)
    }
  }

  private static let place = "refresh_secrets"

  private func fresh() throws(CryptographyError) -> StoredRefreshSecret {
    let secret = random(32)
    let sealed = try sealer.seal(secret, .refreshSecret, place: Self.place)
    return StoredRefreshSecret(sealingKey: sealed?.key, material: sealed?.sealed ?? secret)
  }

  private func open(_ stored: StoredRefreshSecret) throws(CryptographyError) -> RefreshSecret {
    guard let name = stored.sealingKey else { return RefreshSecret(id: stored.id, secret: stored.material) }
    let secret = try sealer.open(stored.material, key: name, .refreshSecret, place: Self.place)
    return RefreshSecret(id: stored.id, secret: secret)
  }
}
