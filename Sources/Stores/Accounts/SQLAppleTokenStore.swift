package import Accounts
package import Encodings
package import SQL

/// Apple's refresh tokens and our challenges in a database.
package struct SQLAppleTokenStore: AppleTokenStore {
  /// How long what expired is kept: another node's clock, and Apple's, may be behind. Milliseconds.
  private static let margin: Int64 = 180_000
  /// Rows that are forgotten in one transaction.
  private static let piece: Int64 = 1_000

  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func add(_ challenge: AppleChallenge, now: Int64) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute(
        """
        insert into apple_challenges (hash, purpose, client_id, session, expires_at)
        values ($1, $2, $3, $4, $5)
        """,
        [
          .blob(challenge.hash), .text(challenge.purpose.rawValue), SQLValue(challenge.clientID),
          SQLValue(challenge.session), .integer(challenge.expiresAt),
        ])
    }
  }

  package func sweep(now: Int64) async throws {
    let tables = [
      ("apple_challenges", "hash"), ("used_identity_tokens", "hash"), ("switch_tickets", "hash"),
      ("web_flows", "id"),
    ]
    for (table, key) in tables {
      // In pieces: after a standstill a day's rows are due at once, and nobody is to wait for all of them.
      while true {
        try Task.checkCancellation()
        let gone = try await database.accountStep { transaction in
          try await transaction.execute(
            "delete from \(table) where \(key) in (select \(key) from \(table) where expires_at <= $1 limit $2)",
            [.integer(now - Self.margin), .integer(Self.piece)])
        }
        if gone < Self.piece { break }
      }
    }
  }

  package func keep(
    _ token: SealedAppleToken, of user: UUID?, now: Int64
  ) async throws -> TokenKeeping {
    try await database.accountStep { transaction in
      if try await Self.keep(token, now: now, transaction) { return .kept }
      // Locked in this order, as every step of a deletion does.
      if let user { _ = try await UserRows.user(user, locked: true, transaction) }
      guard let user, let last = try await DeletionRows.deletion(.user(user), locked: true, transaction),
        last.state == .deleted
      else { return .orphaned }
      _ = try await DeletionRows.write(DeletionRule.late(last, token, now: now), transaction)
      return .queued
    }
  }

  package func due(now: Int64, retryAt: Int64, limit: Int64) async throws -> [SealedAppleToken] {
    try await database.accountStep { transaction in
      let ids = try await transaction.rows(
        "select id from apple_tokens where next_check <= $1 order by next_check, id limit $2\(transaction.skippingLocked)",
        [.integer(now), .integer(max(limit, 0))]
      ) { $0.int64(0) }
      for id in ids {
        try transaction.enqueue(
          "update apple_tokens set next_check = $2 where id = $1", [.integer(id), .integer(retryAt)])
      }
      var due: [SealedAppleToken] = []
      for id in ids { due += try await Self.tokens("t.id = $1", [.integer(id)], transaction) }
      return due
    }
  }

  package func tokens(of user: UUID) async throws -> [SealedAppleToken] {
    try await database.read { try await Self.tokens("i.user_id = $1", [SQLValue(user)], $0) }
  }

  package func checked(
    _ id: Int64, _ verdict: AppleTokenVerdict, nextCheck: Int64, now: Int64
  ) async throws {
    try await database.accountStep { transaction in
      guard let seen = try await Self.suspicion(id, transaction) else { return }
      // Locked before it is judged, and before its tokens, as deleting goes: a sign-in may be about to replace the
      // token, and what is said of the old one is not to be noted of the new.
      _ = try await transaction.first(
        "select 1 from identities where id = $1\(transaction.locking)", [SQLValue(seen.identity)]
      ) { _ in true }
      guard let token = try await Self.suspicion(id, transaction) else { return }
      var suspect = token.suspect
      switch verdict {
      case .valid: suspect = 0
      case .invalidGrant: suspect = 2
      case .invalidRequest: suspect = min(suspect + 1, 2)
      case .unknown: break
      }
      if suspect >= 2, suspect != token.suspect {
        try await transaction.execute(
          "update identities set status = $2, updated_at = $3 where id = $1",
          [SQLValue(token.identity), .integer(Identity.Status.revoked.rawValue), .integer(now)])
        try await tell(token.identity, now: now, transaction)
      }
      try await transaction.execute(
        "update apple_tokens set suspect = $2, next_check = $3, updated_at = $4 where id = $1",
        [.integer(id), .integer(suspect), .integer(nextCheck), .integer(now)])
    }
  }

  /// The identity of a token, and how often Apple has said that it is none.
  private static func suspicion(
    _ id: Int64, _ transaction: Transaction
  ) async throws -> (identity: UUID, suspect: Int64)? {
    try await transaction.first("select identity, suspect from apple_tokens where id = $1", [.integer(id)]) {
      (try $0.uuid(0), $0.int64(1))
    }
  }

  /// Tells that Apple honours the identity's token no more.
  private func tell(_ identity: UUID, now: Int64, _ transaction: Transaction) async throws {
    let owner = try await transaction.first(
      "select user_id from identities where id = $1", [SQLValue(identity)]
    ) { try $0.uuid(0) }
    guard let owner, let user = try await UserRows.user(owner, transaction),
      let found = user.identities.first(where: { $0.id == identity })
    else { return }
    try AuditRows.write(
      .identityRevoked, by: .apple, user: owner, reason: "refresh token refused by Apple", now: now,
      transaction)
    try EventRows.insert(
      .about(found, of: user, .consentRevoked, [("reason", "invalid_grant")], now: now), transaction)
  }

  /// Keeps the token in the place of an older one of the same identity and client; false where nobody has the identity.
  @discardableResult static func keep(
    _ token: SealedAppleToken, now: Int64, _ transaction: Transaction
  ) async throws -> Bool {
    // Locked, so that the identity is not deleted in between. One that is gone keeps no token.
    let identity = try await transaction.first(
      """
      select id from identities where provider = 'apple' and team_id = $1 and subject = $2\(
        transaction.locking)
      """, [.text(token.teamID), .text(token.subject)]
    ) { try $0.uuid(0) }
    guard let identity else { return false }
    // A new row, not the old one changed: what Apple says of the old token must not be noted of this one.
    try await transaction.execute(
      "delete from apple_tokens where identity = $1 and client_id = $2",
      [SQLValue(identity), .text(token.clientID)])
    _ = try await transaction.insert(
      """
      insert into apple_tokens (identity, client_id, sealing_key, sealed, next_check, updated_at)
      values ($1, $2, $3, $4, $5, $6)
      """,
      [
        SQLValue(identity), .text(token.clientID), .text(token.sealingKey), .blob(token.sealed),
        .integer(token.nextCheck), .integer(now),
      ])
    return true
  }

  /// Tokens, `t`, of identities, `i`, on that condition.
  static func tokens(
    _ condition: String, _ values: [SQLValue], _ transaction: Transaction
  ) async throws -> [SealedAppleToken] {
    try await transaction.rows(
      """
      select t.id, i.team_id, i.subject, t.client_id, t.sealing_key, t.sealed, t.next_check
      from apple_tokens t join identities i on i.id = t.identity where \(condition) order by t.id
      """, values
    ) {
      SealedAppleToken(
        id: $0.int64(0), teamID: $0.string(1), subject: $0.string(2), clientID: $0.string(3),
        sealingKey: $0.string(4), sealed: $0.bytes(5), nextCheck: $0.int64(6))
    }
  }
}
