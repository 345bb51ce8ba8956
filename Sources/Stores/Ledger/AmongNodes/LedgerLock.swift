import SQL

/// How the nodes on one PostgreSQL keep the numbers of subjects and periods to themselves.
///
/// Every batch holds the lock with others, and reads a generation under it. Whoever makes a period, or forgets
/// periods or subjects, holds it alone and raises the generation: so what nodes remember is not stale. The subject of
/// a deleted user alone loses its name without that: under that name nobody comes again, for an id is not given to
/// another user while a tombstone has it. The lock comes before any row's.
enum LedgerLock {
  static let number = SQLValue.integer(0x6272_616d_0000_0002)
  private static let name = SQLValue.text("ledger_names")

  static let shared = Query("select pg_advisory_xact_lock_shared($1)", [number])
  static let exclusive = Query("select pg_advisory_xact_lock($1)", [number])
  /// With the server's clock, which leases are counted by.
  static let generation = Query(
    "select (select value from meta where name = $1), \(LeaseClock.serverTime)", [name])

  /// For a transaction that forgets names; it must not have looked at anything before. SQLite's writer is alone.
  static func alone(_ transaction: Transaction) async throws {
    guard transaction.dialect == .postgreSQL else { return }
    try await transaction.execute("set transaction isolation level read committed")
    try await transaction.execute(exclusive.sql, exclusive.values)
    try raiseGeneration(transaction)
  }

  /// Under the exclusive lock. It goes out with what comes next.
  static func raiseGeneration(_ transaction: Transaction) throws {
    try transaction.enqueue(
      """
      insert into meta (name, value) values ($1, '1')
      on conflict (name) do update set value = (meta.value::bigint + 1)::text
      """, [name])
  }
}
