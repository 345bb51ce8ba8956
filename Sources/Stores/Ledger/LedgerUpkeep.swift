import Admission
import SQL

/// Forgets what no admission asks for any more, a bounded piece at a time.
enum LedgerUpkeep {
  /// Rows of a period are kept this long after its end: for a clock that goes back, and for reservations that
  /// live a day. Milliseconds.
  static let retention: Int64 = 8 * 86_400_000
  /// The same for hours and minutes, of which there are many: whoever gained one by a clock that goes back gained
  /// little.
  private static let shortRetention: Int64 = 3_600_000
  /// How many of those are left to lie before forgetting is worth a write.
  private static let shortPeriods: Int64 = 100
  private static let piece: Int64 = 2_000

  /// Periods that are to be forgotten, by `ends`, where `$1` and `$2` are when each kind had to end.
  private static let isOver =
    "(p.ends < $1 or (p.ends < $2 and p.ends - p.starts <= \(Settling.longestRate)))"

  private static func ends(_ now: Int64) -> [SQLValue] {
    [.integer(now - retention), .integer(now - shortRetention)]
  }

  /// - Parameter now: the caller's, milliseconds since 1970.
  static func run(_ database: Database, _ clock: LeaseClock, now: Int64) async throws {
    // Writing drops the rows that the ledger keeps, so there is none when there is nothing to do.
    let due = try await database.read { transaction in
      let now = try await clock.time(transaction, now: now)
      return try await isDue(transaction, now: now) ? now : nil
    }
    guard let now = due else { return }
    try await database.write { transaction in
      try await LedgerLock.alone(transaction)
      try await transaction.execute("delete from session_tokens where expiry <= $1", [.integer(now / 1_000)])
      try await transaction.execute(
        """
        delete from lines where (subject, rule, period) in (
          select l.subject, l.rule, l.period from periods p join lines l on l.period = p.id and l.period > 0
          where \(isOver) limit $3)
        """, ends(now) + [.integer(piece)])
      try await transaction.execute(
        """
        delete from periods where id in (
          select p.id from periods p where \(isOver)
            and not exists (select 1 from lines l where l.period = p.id and l.period > 0))
        """, ends(now))
      try await forgetAddresses(transaction, now: now)
    }
  }

  private static func isDue(_ transaction: Transaction, now: Int64) async throws -> Bool {
    try await transaction.first(
      """
      select exists (select 1 from periods p where p.ends < $1)
        or (select count(*) from periods p where \(isOver)) > \(shortPeriods)
        or exists (select 1 from session_tokens where expiry <= $3)
        or (select count(*) from subjects where kind = $4) > 10000
      """, ends(now) + [.integer(now / 1_000), .integer(LineSubject.Kind.address.rawValue)]
    ) { $0.bool(0) } ?? false
  }

  /// Addresses whose rows say nothing any more: no period, nothing running, the burst long over. The oldest first,
  /// a bounded piece, so that a flood of addresses goes as it came.
  private static func forgetAddresses(_ transaction: Transaction, now: Int64) async throws {
    let over = SQLValue.integer((now - 86_400_000).multipliedReportingOverflow(by: 1_000_000).partialValue)
    let idle = try await transaction.rows(
      """
      select s.id from subjects s where s.kind = $1 and not exists (
        select 1 from lines l
        where l.subject = -s.id and (l.period > 0 or l.held > 0 or l.used >= $2)) limit $3
      """, [.integer(LineSubject.Kind.address.rawValue), over, .integer(piece)]
    ) { $0.int64(0) }
    for id in idle {
      try await transaction.execute("delete from lines where subject = $1", [.integer(-id)])
      try await transaction.execute("delete from subjects where id = $1", [.integer(id)])
    }
  }
}
