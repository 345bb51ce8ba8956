import SQL

/// What leases are written, renewed and judged by (RULES §5.5).
package enum LeaseClock: Sendable {
  /// The database server's clock, which all its nodes share. SQLite has one node, whose own clock it is.
  case database
  /// What the caller takes for now: tests live in times of their own.
  case caller

  /// Milliseconds since 1970 on a PostgreSQL server. Stable within a statement, so that it can be looked up by.
  static let serverTime = "(extract(epoch from statement_timestamp()) * 1000)::bigint"

  /// Now, milliseconds since 1970. On PostgreSQL one round trip.
  ///
  /// - Parameter now: the caller's.
  func time(_ transaction: Transaction, now: Int64) async throws -> Int64 {
    guard isServers(transaction.dialect) else { return now }
    return try await transaction.first("select \(Self.serverTime)") { $0.int64(0) } ?? now
  }

  func isServers(_ dialect: Dialect) -> Bool { self == .database && dialect == .postgreSQL }
}
