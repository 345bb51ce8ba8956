package import Encodings

/// Users as they and operators change them. Each method is one atomic step. Times are milliseconds since 1970.
package protocol UserStore: Sendable {
  /// The user, also a banned or leaving one.
  func user(_ id: UUID) async throws -> User?
  /// What is held about the user beside the user and their identities: lists by name, without secrets.
  func held(about id: UUID) async throws -> JSONValue
  /// Users by creation, newest first, and how many there are in all.
  func users(offset: Int64, limit: Int64) async throws -> (users: [User], total: Int64)
  /// Makes a user with a given id.
  func create(_ user: User, by origin: RequestOrigin) async throws -> UserCreation
  /// Applies the change. nil when there is no such user.
  func update(
    _ id: UUID, _ change: UserChange, by origin: RequestOrigin, now: Int64
  ) async throws -> Result<User, UserChangeRefusal>?
  /// Anonymous users of whom nothing was seen since `cutoff`: none of their sessions was refreshed, and nothing of
  /// them changed (RULES §3.10). `limit` users at most, by id, of those after `after`. What is seen here decides
  /// nothing: their deletion looks once more (``DeletionRequest/Proof/idle(since:)``).
  func idle(since cutoff: Int64, after: UUID?, limit: Int64) async throws -> [UUID]
  /// Unlinks an identity of the user.
  func unlink(
    _ identity: UUID, of user: UUID, by origin: RequestOrigin, now: Int64
  ) async throws -> UnlinkOutcome
}

/// What became of `create`.
package enum UserCreation: Sendable, Equatable {
  case created(User)
  case idTaken
  /// A tombstone has the id, and what is counted for the user who had it is there still.
  case idDeleted
  case emailTaken
}

/// A change to a user. What is nil stays.
package struct UserChange: Sendable, Equatable {
  /// Members to merge into `user_metadata`, one level deep; a null removes its member.
  package var userMetadata: JSONValue?
  /// Members to merge into `app_metadata`; for operators alone.
  package var appMetadata: JSONValue?
  /// For operators alone: `.some(nil)` lifts a ban. A ban ends no session, it stops all of them while it lasts.
  package var bannedUntil: Int64??
  /// For operators alone. Confirmed only where `confirmsEmail` says so: a confirmed address may find its user
  /// (RULES §3.11).
  package var email: String?
  /// Whether the address, the new one or the one that is there, is known to be the user's.
  package var confirmsEmail: Bool

  package init(
    userMetadata: JSONValue? = nil, appMetadata: JSONValue? = nil, bannedUntil: Int64?? = nil,
    email: String? = nil, confirmsEmail: Bool = false
  ) {
    self.userMetadata = userMetadata
    self.appMetadata = appMetadata
    self.bannedUntil = bannedUntil
    self.email = email
    self.confirmsEmail = confirmsEmail
  }
}

/// Why a change was refused. Nothing was changed.
package enum UserChangeRefusal: Error, Sendable, Equatable {
  /// `user_metadata` would be longer than this, octets (RULES §3.9).
  case metadataTooLarge(limit: Int)
  case emailTaken
  /// The account is being deleted (RULES §4.1).
  case deleting
}

/// What became of unlinking.
package enum UnlinkOutcome: Sendable, Equatable {
  case unlinked
  /// The user has no such identity.
  case notFound
  /// It is the user's last.
  case lastIdentity
  /// The account is being deleted (RULES §4.1).
  case deleting
}
