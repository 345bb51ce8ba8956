package import SQL

/// Everything that the stores keep, step by step.
package enum Schema {
  /// Every step, oldest first. Released ones never change.
  package static let migrations = [
    Migration(version: 1, name: "keys and ledger", sql: keysAndLedger),
    Migration(version: 2, name: "shared jobs", sql: sharedJobs),
    Migration(version: 3, name: "closed models", sql: closedModels),
    Migration(version: 4, name: "accounts", sql: accounts, postgreSQL: accountsOnPostgreSQL),
    Migration(version: 5, name: "sealed refresh secrets", sql: sealedRefreshSecrets),
    Migration(version: 6, name: "apple events", sql: appleEvents),
    Migration(version: 7, name: "audit origins", sql: auditOrigins),
    Migration(version: 8, name: "outgoing events", sql: outgoingEvents),
    Migration(version: 9, name: "receipt refreshes", sql: receiptRefreshes),
    Migration(version: 10, name: "queued calls", sql: queuedCalls),
    Migration(version: 11, name: "quotas", sql: quotas),
    Migration(version: 12, name: "deletions", sql: deletions),
    Migration(version: 13, name: "kept answers", sql: keptAnswers),
    Migration(version: 14, name: "team transfers", sql: teamTransfers),
    Migration(version: 15, name: "objects", sql: objects),
    Migration(version: 16, name: "leaving users", sql: leavingUsers),
    Migration(version: 17, name: "left users", sql: leftUsers),
    Migration(
      version: 18, name: "ending tokens", sql: endingTokens, postgreSQL: endingTokensOnPostgreSQL,
      sqlite: endingTokensOnSQLite),
    Migration(version: 19, name: "token mints", sql: tokenMints),
    Migration(version: 20, name: "reservation endings", sql: reservationEndings),
  ]

  /// Brings the database to this program's schema; the versions that were applied.
  ///
  /// - Parameter now: seconds since 1970.
  /// - Throws: `DatabaseError.schemaTooNew` and what writing throws.
  @discardableResult package static func migrate(_ database: Database, now: Int64) async throws -> [Int] {
    try await Migrator(migrations).migrate(database, now: now)
  }
}
