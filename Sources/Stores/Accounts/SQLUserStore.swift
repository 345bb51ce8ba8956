package import Accounts
package import Encodings
package import SQL

/// Users in a database, as they and operators change them.
package struct SQLUserStore: UserStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func user(_ id: UUID) async throws -> User? {
    try await database.read { try await UserRows.user(id, $0) }
  }

  package func held(about id: UUID) async throws -> JSONValue {
    try await database.read { try await HeldRows.read(id, $0) }
  }

  package func users(offset: Int64, limit: Int64) async throws -> (users: [User], total: Int64) {
    try await database.read { transaction in
      let total = try await transaction.first("select count(*) from users") { $0.int64(0) } ?? 0
      let rows = try await transaction.rows(
        "select \(UserRows.columns) from users u order by u.created_at desc, u.id desc limit $1 offset $2",
        [.integer(max(limit, 0)), .integer(max(offset, 0))]
      ) { try UserRows.read($0) }
      var users: [User] = []
      for row in rows { users.append(try await UserRows.complete(row, transaction)) }
      return (users, total)
    }
  }

  package func create(_ user: User, by origin: RequestOrigin) async throws -> UserCreation {
    try await database.accountStep { transaction in
      var user = user
      user.identities = []
      user.appMetadata = Metadata.app(user.appMetadata, identities: [])
      if let email = user.email {
        try await transaction.lock(names: [IdentityTokenRows.address(email)])
        if try await UserRows.isTaken(email, but: user.id, transaction) { return .emailTaken }
      }
      // Whoever deletes one with this id is waited for.
      guard try await UserRows.user(user.id, locked: true, transaction) == nil else { return .idTaken }
      guard try await DeletionRows.deletion(.user(user.id), transaction) == nil else { return .idDeleted }
      guard try await UserRows.insert(user, transaction) else { return .idTaken }
      try AuditRows.write(
        .userSignedUp, by: origin, user: user.id, reason: "by an operator", now: user.createdAt, transaction)
      try EventRows.insert(.created(user, session: nil, by: "operator", now: user.createdAt), transaction)
      return .created(user)
    }
  }

  package func update(
    _ id: UUID, _ change: UserChange, by origin: RequestOrigin, now: Int64
  ) async throws -> Result<User, UserChangeRefusal>? {
    try await database.accountStep { transaction in
      if let email = change.email { try await transaction.lock(names: [IdentityTokenRows.address(email)]) }
      guard let user = try await UserRows.user(id, locked: true, transaction) else { return nil }
      do {
        let changed = try await Self.apply(change, to: user, now: now, transaction)
        try UserRows.update(changed, transaction)
        try await Self.note(change, id, by: origin, now: now, transaction)
        return .success(changed)
      } catch let refusal as UserChangeRefusal {
        return .failure(refusal)
      }
    }
  }

  package func idle(since cutoff: Int64, after: UUID?, limit: Int64) async throws -> [UUID] {
    try await database.read {
      try await IdleUserRows.candidates(since: cutoff, after: after, limit: limit, $0)
    }
  }

  package func unlink(
    _ identity: UUID, of user: UUID, by origin: RequestOrigin, now: Int64
  ) async throws -> UnlinkOutcome {
    try await database.accountStep { transaction in
      guard let owner = try await UserRows.user(user, locked: true, transaction),
        let unlinked = owner.identities.first(where: { $0.id == identity })
      else { return .notFound }
      if owner.deletingSince != nil { return .deleting }
      guard owner.identities.count > 1 else { return .lastIdentity }
      try await PersonRows.carry(from: user, to: [unlinked], now: now, transaction)
      try await transaction.execute("delete from identities where id = $1", [SQLValue(identity)])
      let left = Profile.updated(owner, unlinking: unlinked, now: now)
      try UserRows.update(left, transaction)
      try AuditRows.write(.identityUnlinked, by: origin, user: user, now: now, transaction)
      try EventRows.insert(.about(unlinked, of: left, .userUnlinked, now: now), transaction)
      return .unlinked
    }
  }

  private static func apply(
    _ change: UserChange, to user: User, now: Int64, _ transaction: Transaction
  ) async throws -> User {
    if user.deletingSince != nil { throw UserChangeRefusal.deleting }
    var user = user
    if let metadata = change.userMetadata {
      user.userMetadata = Metadata.merge(metadata, into: user.userMetadata)
      guard Metadata.fits(user.userMetadata) else {
        throw UserChangeRefusal.metadataTooLarge(limit: Metadata.limit)
      }
    }
    if let metadata = change.appMetadata {
      user.appMetadata = Metadata.app(
        Metadata.merge(metadata, into: user.appMetadata), identities: user.identities)
    }
    if change.userMetadata != nil || change.appMetadata != nil, !user.fitsToken {
      throw UserChangeRefusal.metadataTooLarge(limit: AccessTokenClaims.limit)
    }
    if let bannedUntil = change.bannedUntil { user.bannedUntil = bannedUntil }
    if let email = change.email, email != user.email {
      if try await UserRows.isTaken(email, but: user.id, transaction) { throw UserChangeRefusal.emailTaken }
      user.email = email
      user.emailConfirmedAt = nil
    }
    if change.confirmsEmail, user.email != nil { user.emailConfirmedAt = user.emailConfirmedAt ?? now }
    user.updatedAt = now
    return user
  }

  private static func note(
    _ change: UserChange, _ id: UUID, by origin: RequestOrigin, now: Int64, _ transaction: Transaction
  ) async throws {
    var action = AuditAction.userModified
    if let bannedUntil = change.bannedUntil {
      action = bannedUntil.map { $0 > now } == true ? .userBanned : .userUnbanned
      try await KeyUserRows.ban(id, until: bannedUntil, transaction)
      // Also where a device's session token stands for the user (RULES §1.8).
      if action == .userBanned { try UserRows.endDeviceTokens(of: id, transaction) }
    }
    try AuditRows.write(action, by: origin, user: id, now: now, transaction)
  }
}
