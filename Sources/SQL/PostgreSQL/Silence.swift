/// Watches over lanes whose transactions have one Sync, at the end.
///
/// PostgreSQL counts a transaction as idle only after a Sync, and so `idle_in_transaction_session_timeout` would never
/// end that of a node which was frozen between its locks and its commit: the rows that all nodes share would be locked
/// until it thaws. So whoever waited for a lock in vain looks for a lane that is silent for longer than that, and ends
/// its session. What it was doing is rolled back, and decided anew when it comes to itself.
enum Silence {
  /// Has a new connection found by the others.
  static func announce(_ connection: PostgresConnection) async throws(DatabaseError) {
    try await connection.script(
      "select pg_advisory_lock_shared(\(AdvisoryLock.silence), hashtext(current_schema()))")
  }

  /// Ends lanes that hold locks and say nothing.
  static func end(_ settings: PostgresSettings, on connection: PostgresConnection) async {
    connection.begin("isolation level read committed")
    do throws(DatabaseError) {
      _ = try await connection.exchange([
        Query(
          sql,
          [.integer(AdvisoryLock.silence), .integer(Int64(settings.statementTimeout))])
      ])
      try await connection.commit()
    } catch {
      await connection.rollback()
    }
  }

  /// Only of this schema's nodes, which may be slower elsewhere, and of this role, whose sessions alone it may see and
  /// end. A lock with two numbers has the second in `objid`, as an unsigned one.
  private static let sql = """
    select pg_terminate_backend(a.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.classid = $1::bigint::oid
      and l.objid = (hashtext(current_schema())::bigint & 4294967295)::oid and l.objsubid = 2
      and l.database = (select oid from pg_database where datname = current_database())
      and a.pid <> pg_backend_pid() and a.usename = current_user
      and a.state = 'active' and a.wait_event = 'ClientRead' and a.xact_start is not null
      and a.query_start < clock_timestamp() - $2::bigint * interval '1 millisecond'
    """
}
