import Accounts
import Encodings

extension AccountStore {
  func signOut(_ session: UUID, _ scope: SignOutScope, now: Int64) async throws -> Bool {
    try await signOut(session, scope, by: .user, now: now)
  }
}

extension UserStore {
  func create(_ user: User) async throws -> UserCreation { try await create(user, by: .user) }

  func update(
    _ id: UUID, _ change: UserChange, now: Int64
  ) async throws -> Result<User, UserChangeRefusal>? {
    try await update(id, change, by: .user, now: now)
  }

  func unlink(_ identity: UUID, of user: UUID, now: Int64) async throws -> UnlinkOutcome {
    try await unlink(identity, of: user, by: .user, now: now)
  }
}

extension AppleTokenStore {
  /// Of an identity that is there.
  func keep(_ token: SealedAppleToken, now: Int64) async throws {
    _ = try await keep(token, of: nil, now: now)
  }
}
