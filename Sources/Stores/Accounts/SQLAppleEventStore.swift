package import Accounts
package import SQL

/// What Apple told of its users, in a database (RULES §2.3, §2.4).
package struct SQLAppleEventStore: AppleEventStore {
  /// The most that is added to the time of a next try, milliseconds.
  private static let longestDelay: Int64 = 21_600_000

  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func record(_ events: [AppleEvent], now: Int64) async throws -> Bool {
    try await database.accountStep { transaction in
      var recorded = 0
      for event in events {
        let own = try await transaction.first(
          "select revoked_at from apple_revocations where team_id = $1 and subject = $2",
          [.text(event.teamID), .text(event.subject)]
        ) { $0.int64(0) }
        let outcome = AppleEventRule.atOnce(event, ownRevocation: own)
        recorded += try await transaction.execute(
          """
          insert into apple_events (jti, type, team_id, subject, event_time, received_at, next_try, applied_at,
            outcome)
          values ($1, $2, $3, $4, $5, $6, $6, $7, $8) on conflict (jti) do nothing
          """,
          [
            .text(event.id), .text(event.type), .text(event.teamID), .text(event.subject),
            .integer(event.time), .integer(now), outcome == nil ? .null : .integer(now),
            SQLValue(outcome?.rawValue),
          ])
      }
      return recorded > 0
    }
  }

  package func pending(now: Int64, retryAt: Int64, limit: Int64) async throws -> [PendingAppleEvent] {
    try await database.accountStep { transaction in
      let events = try await transaction.rows(
        """
        select jti, type, team_id, subject, event_time, received_at from apple_events
        where applied_at is null and (next_try <= $1 or next_try > $3) order by event_time, id limit $2\(transaction.skippingLocked)
        """,
        [
          .integer(now), .integer(max(limit, 0)),
          // Written while the clock ran ahead.
          .integer(now.addingReportingOverflow(2 * Self.longestDelay).partialValue),
        ]
      ) { (event: Self.event($0), received: $0.int64(5)) }
      var pending: [PendingAppleEvent] = []
      for (event, received) in events {
        // The longer it waits already, the longer it waits for the next try: Apple is not to be hammered.
        let delay = min(max(now - received, 0) / 4, Self.longestDelay)
        try transaction.enqueue(
          "update apple_events set next_try = $2 where jti = $1",
          [.text(event.id), .integer(retryAt + delay)])
        var tokens: [SealedAppleToken] = []
        if event.kind == .accountDeleted || event.kind == .consentRevoked {
          tokens = try await SQLAppleTokenStore.tokens(
            "i.provider = 'apple' and i.team_id = $1 and i.subject = $2 and i.consent_at <= $3",
            [.text(event.teamID), .text(event.subject), .integer(event.time)], transaction)
        }
        pending.append(PendingAppleEvent(event: event, tokens: tokens))
      }
      return pending
    }
  }

  package func apply(
    _ id: String, consentHolds: Bool, policy: AppleEventPolicy, now: Int64
  ) async throws -> AppleEventResult? {
    try await database.accountStep { transaction in
      try await AppleEventStep(
        id: id, consentHolds: consentHolds, policy: policy, now: now, transaction: transaction
      ).run()
    }
  }

  package func finish(_ id: String, _ outcome: AppleEventOutcome, now: Int64) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute(
        "update apple_events set applied_at = $2, outcome = $3 where jti = $1 and applied_at is null",
        [.text(id), .integer(now), .text(outcome.rawValue)])
    }
  }

  package func revoking(teamID: String, subject: String, now: Int64) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute(
        """
        insert into apple_revocations (team_id, subject, revoked_at) values ($1, $2, $3)
        on conflict (team_id, subject) do update set revoked_at = excluded.revoked_at
        """, [.text(teamID), .text(subject), .integer(now)])
    }
  }

  package func notRevoked(teamID: String, subject: String) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute(
        "delete from apple_revocations where team_id = $1 and subject = $2", [.text(teamID), .text(subject)])
    }
  }

  package func forget(before time: Int64) async throws {
    try await database.accountStep { transaction in
      try await transaction.execute("delete from apple_events where applied_at < $1", [.integer(time)])
      try await transaction.execute("delete from apple_revocations where revoked_at < $1", [.integer(time)])
    }
  }

  /// From the columns jti, type, team_id, subject, event_time.
  static func event(_ row: Row) -> AppleEvent {
    AppleEvent(
      id: row.string(0), type: row.string(1), teamID: row.string(2), subject: row.string(3),
      time: row.int64(4))
  }
}
