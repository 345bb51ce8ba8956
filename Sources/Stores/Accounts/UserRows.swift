import Accounts
import Encodings
import SQL

/// Rows of users and their identities.
enum UserRows {
  static let columns = """
    u.id, u.is_anonymous, u.email, u.email_confirmed_at, u.real_email, u.app_metadata, u.user_metadata,
    u.created_at, u.updated_at, u.last_sign_in_at, u.banned_until, u.deleting_since
    """

  private static let identityColumns = """
    id, user_id, provider, team_id, subject, email, is_private_email, status, consent_at, data, created_at,
    updated_at, last_sign_in_at, forwards_email, forwarding_at
    """

  /// The user whose columns begin at `first`; identities are to be added.
  static func read(_ row: Row, from first: Int32 = 0) throws -> User {
    User(
      id: try row.uuid(first), isAnonymous: row.bool(first + 1), email: row.optionalString(first + 2),
      emailConfirmedAt: row.optionalInt64(first + 3), realEmail: row.optionalString(first + 4),
      appMetadata: try row.json(first + 5), userMetadata: try row.json(first + 6),
      createdAt: row.int64(first + 7), updatedAt: row.int64(first + 8),
      lastSignInAt: row.optionalInt64(first + 9), bannedUntil: row.optionalInt64(first + 10),
      deletingSince: row.optionalInt64(first + 11))
  }

  /// The user with their identities; locked, those who would change it wait.
  static func user(_ id: UUID, locked: Bool = false, _ transaction: Transaction) async throws -> User? {
    let end = locked ? transaction.locking : ""
    let user = try await transaction.first(
      "select \(columns) from users u where u.id = $1\(end)", [SQLValue(id)]
    ) {
      try read($0)
    }
    guard let user else { return nil }
    return try await complete(user, transaction)
  }

  /// Locks the users, in one order; those that are gone are left out.
  static func lock(_ ids: [UUID], _ transaction: Transaction) async throws -> [User] {
    let sorted = Set(ids).sorted { $0.octets.lexicographicallyPrecedes($1.octets) }
    var users: [User] = []
    for id in sorted {
      if let user = try await user(id, locked: true, transaction) { users.append(user) }
    }
    return users
  }

  /// Adds the identities, and what `app_metadata` says of them. Anonymous users have none.
  static func complete(_ user: User, _ transaction: Transaction) async throws -> User {
    var user = user
    if !user.isAnonymous {
      user.identities = try await transaction.rows(
        "select \(identityColumns) from identities where user_id = $1 order by created_at, id",
        [SQLValue(user.id)]
      ) { try identity($0) }
    }
    user.appMetadata = Metadata.app(user.appMetadata, identities: user.identities)
    return user
  }

  static func identity(
    provider: String, teamID: String, subject: String, _ transaction: Transaction
  ) async throws -> Identity? {
    try await transaction.first(
      """
      select \(identityColumns) from identities where provider = $1 and team_id = $2 and subject = $3
      """, [.text(provider), .text(teamID), .text(subject)]
    ) { try identity($0) }
  }

  /// The identity that is to be known by another name since its team was transferred.
  static func transferred(
    _ assertion: IdentityAssertion, _ transaction: Transaction
  ) async throws -> Identity? {
    guard let former = assertion.transferSubject, !former.isEmpty else { return nil }
    let found = try await transaction.rows(
      """
      select \(identityColumns) from identities
      where provider = $1 and (transfer_subject = $2 or (subject = $2 and team_id <> $3)) limit 2
      """, [.text(assertion.provider), .text(former), .text(assertion.teamID)]
    ) { try identity($0) }
    return found.count == 1 ? found.first : nil
  }

  private static func identity(_ row: Row) throws -> Identity {
    Identity(
      id: try row.uuid(0), userID: try row.uuid(1), provider: row.string(2), teamID: row.string(3),
      subject: row.string(4), email: row.optionalString(5), isPrivateEmail: row.optionalBool(6),
      status: Identity.Status(rawValue: row.int64(7)) ?? .revoked, consentAt: row.int64(8),
      data: try row.json(9), createdAt: row.int64(10), updatedAt: row.int64(11),
      lastSignInAt: row.int64(12), forwardsEmail: row.optionalBool(13),
      forwardingAt: row.optionalInt64(14))
  }

  // MARK: Writing

  /// False where the id is taken.
  static func insert(_ user: User, _ transaction: Transaction) async throws -> Bool {
    try await transaction.execute(
      """
      insert into users (id, is_anonymous, email, email_confirmed_at, real_email, app_metadata, user_metadata,
        created_at, updated_at, last_sign_in_at, banned_until, deleting_since)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict (id) do nothing
      """, values(user)) > 0
  }

  static func update(_ user: User, _ transaction: Transaction) throws {
    try transaction.enqueue(
      """
      update users set is_anonymous = $2, email = $3, email_confirmed_at = $4, real_email = $5,
        app_metadata = $6, user_metadata = $7, created_at = $8, updated_at = $9, last_sign_in_at = $10,
        banned_until = $11, deleting_since = $12
      where id = $1
      """, values(user))
  }

  /// Throws `conflict`, after which the step is begun anew, where the name or the id is taken.
  static func insert(_ identity: Identity, _ transaction: Transaction) async throws {
    let inserted = try await transaction.execute(
      """
      insert into identities (id, user_id, provider, team_id, subject, email, is_private_email, status,
        consent_at, data, created_at, updated_at, last_sign_in_at, forwards_email, forwarding_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) on conflict do nothing
      """, values(identity))
    if inserted == 0 { throw DatabaseError.conflict }
  }

  /// Also re-keys it: what named it during a transfer is forgotten then.
  static func update(_ identity: Identity, isRekeyed: Bool = false, _ transaction: Transaction) throws {
    let transfer = isRekeyed ? ", transfer_subject = null" : ""
    try transaction.enqueue(
      """
      update identities set user_id = $2, provider = $3, team_id = $4, subject = $5, email = $6,
        is_private_email = $7, status = $8, consent_at = $9, data = $10, created_at = $11, updated_at = $12,
        last_sign_in_at = $13, forwards_email = $14, forwarding_at = $15\(transfer)
      where id = $1
      """, values(identity))
    // Sealed under the name of before, and good for the former team alone.
    if isRekeyed {
      try transaction.enqueue("delete from apple_tokens where identity = $1", [SQLValue(identity.id)])
    }
  }

  private static func values(_ user: User) -> [SQLValue] {
    [
      SQLValue(user.id), SQLValue(user.isAnonymous), SQLValue(user.email), SQLValue(user.emailConfirmedAt),
      SQLValue(user.realEmail), SQLValue(Metadata.app(user.appMetadata, identities: [])),
      SQLValue(user.userMetadata), .integer(user.createdAt), .integer(user.updatedAt),
      SQLValue(user.lastSignInAt), SQLValue(user.bannedUntil), SQLValue(user.deletingSince),
    ]
  }

  private static func values(_ identity: Identity) -> [SQLValue] {
    [
      SQLValue(identity.id), SQLValue(identity.userID), .text(identity.provider), .text(identity.teamID),
      .text(identity.subject), SQLValue(identity.email),
      identity.isPrivateEmail.map { SQLValue($0) } ?? .null,
      .integer(identity.status.rawValue), .integer(identity.consentAt), SQLValue(identity.data),
      .integer(identity.createdAt), .integer(identity.updatedAt), .integer(identity.lastSignInAt),
      identity.forwardsEmail.map { SQLValue($0) } ?? .null, SQLValue(identity.forwardingAt),
    ]
  }
}

extension UserRows {
  /// Whether another user has the address.
  static func isTaken(_ email: String, but user: UUID, _ transaction: Transaction) async throws -> Bool {
    try await transaction.first(
      "select 1 from users where email = $1 and id <> $2 limit 1", [.text(email), SQLValue(user)]
    ) { _ in true } ?? false
  }

  /// Deletes the user with everything that hangs on it; false where there is none.
  @discardableResult static func delete(
    _ id: UUID, by origin: RequestOrigin = .server, reason: String?, now: Int64, _ transaction: Transaction
  ) async throws -> Bool {
    try await KeyUserRows.leave(id, transaction)
    let identities = try await transaction.rows(
      "select \(identityColumns) from identities where user_id = $1", [SQLValue(id)]
    ) { try identity($0) }
    try await PersonRows.carry(from: id, to: identities, now: now, transaction)
    try await KeyUserRows.forget(id, transaction)
    guard try await transaction.execute("delete from users where id = $1", [SQLValue(id)]) > 0 else {
      return false
    }
    try endDeviceTokens(of: id, transaction)
    // Such a call is nobody's any more, and is settled all the same.
    try transaction.enqueue(
      "update queued_calls set user_id = '' where user_id = $1", [.text(id.description)])
    try AuditRows.write(.userDeleted, by: origin, user: id, reason: reason, now: now, transaction)
    try EventRows.eraseContact(of: id, transaction)
    try EventRows.insert(.deleted(id, reason: reason, now: now), transaction)
    return true
  }

  /// Ends the session tokens of devices that stand for the user (RULES §1.8).
  static func endDeviceTokens(of user: UUID, _ transaction: Transaction) throws {
    try transaction.enqueue("delete from session_tokens where user_id = $1", [.text(user.description)])
  }
}
