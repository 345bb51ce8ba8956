package import Encodings

/// An account. Times are milliseconds since 1970.
package struct User: Sendable, Equatable {
  package var id: UUID
  /// Whether no identity was ever linked.
  package var isAnonymous: Bool
  /// Where mail reaches the user, lowercase; a relay address where the user hides theirs. Profile, never a key.
  package var email: String?
  /// When `email` was known to be verified.
  package var emailConfirmedAt: Int64?
  /// The user's own address where Apple once gave it, kept when the user later hides it.
  package var realEmail: String?
  /// What the app's backend keeps, an object; `provider` and `providers` are computed from the identities.
  package var appMetadata: JSONValue
  /// What the app keeps, an object of 2 KiB at most (RULES §3.9).
  package var userMetadata: JSONValue
  package var createdAt: Int64
  package var updatedAt: Int64
  package var lastSignInAt: Int64?
  /// Until when no session is opened, refreshed or honoured; `.max` for good.
  package var bannedUntil: Int64?
  /// Since when the account is being deleted (RULES §4.1).
  package var deletingSince: Int64?
  /// Oldest first.
  package var identities: [Identity]

  package init(
    id: UUID, isAnonymous: Bool, email: String? = nil, emailConfirmedAt: Int64? = nil,
    realEmail: String? = nil, appMetadata: JSONValue = .object([]), userMetadata: JSONValue = .object([]),
    createdAt: Int64, updatedAt: Int64, lastSignInAt: Int64? = nil, bannedUntil: Int64? = nil,
    deletingSince: Int64? = nil, identities: [Identity] = []
  ) {
    self.id = id
    self.isAnonymous = isAnonymous
    self.email = email
    self.emailConfirmedAt = emailConfirmedAt
    self.realEmail = realEmail
    self.appMetadata = appMetadata
    self.userMetadata = userMetadata
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.lastSignInAt = lastSignInAt
    self.bannedUntil = bannedUntil
    self.deletingSince = deletingSince
    self.identities = identities
  }

  /// Whether a ban holds at `now`.
  package func isBanned(at now: Int64) -> Bool { bannedUntil.map { now < $0 } ?? false }
}
