extension Database {
  /// Whether transactions that write can be expected to pass: a PostgreSQL server that answers and that is neither
  /// a standby nor told to refuse writes; a SQLite file that can be read.
  package func isReady() async -> Bool {
    let sql =
      switch dialect {
      case .sqlite: "select 1"
      case .postgreSQL:
        "select not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off'"
      }
    return (try? await read { try await $0.first(sql) { $0.bool(0) } ?? false }) ?? false
  }
}
