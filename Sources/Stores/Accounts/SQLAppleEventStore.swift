package import Accounts
package import SQL

/// What Apple told of its users, in a database (RULES §2.3).
package struct SQLAppleEventStore: AppleEventStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func record(_ event: AppleEvent, now: Int64) async throws -> Bool {
    try await database.accountStep { transaction in
      try transaction.execute(
        """
        insert into apple_events (jti, type, team_id, subject, event_time, received_at)
        values ($1, $2, $3, $4, $5, $6) on conflict (jti) do nothing
        """,
        [
          .text(event.id), .text(event.type), .text(event.teamID), .text(event.subject),
          .integer(event.time), .integer(now),
        ]) > 0
    }
  }
}
