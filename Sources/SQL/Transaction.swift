import System

/// What a closure does its work with. It must not leave the closure that got it.
///
/// Only the database is waited for in a transaction: on SQLite each call is answered there and then, on the thread that
/// the writer is, and on PostgreSQL the event loop of the connection turns until the answer is there.
package struct Transaction {
  private enum Driver {
    case sqlite(SQLiteTransaction)
    case postgreSQL(PostgresConnection)
  }

  private let driver: Driver

  init(_ connection: Connection) { driver = .sqlite(SQLiteTransaction(connection)) }

  init(_ connection: PostgresConnection) { driver = .postgreSQL(connection) }

  /// Which SQL is spoken here.
  package var dialect: Dialect {
    switch driver {
    case .sqlite: .sqlite
    case .postgreSQL: .postgreSQL
    }
  }

  /// Runs a statement; the number of rows that it changed.
  @discardableResult
  package func execute(_ sql: String, _ values: [SQLValue] = []) async throws(DatabaseError) -> Int {
    switch driver {
    case .sqlite(let local): return try local.execute(sql, values)
    case .postgreSQL(let connection):
      _ = try await connection.exchange([Query(sql, values)])
      return connection.changes
    }
  }

  /// Calls `each` for every row.
  package func forEach(
    _ sql: String, _ values: [SQLValue] = [], _ each: (Row) throws -> Void
  ) async throws {
    switch driver {
    case .sqlite(let local): try local.forEach(sql, values, each)
    case .postgreSQL(let connection):
      for result in try await connection.exchange([Query(sql, values)]) {
        try await Self.forEach(result, on: connection, each)
      }
    }
  }

  /// Every row, as `map` reads it.
  package func rows<Value>(
    _ sql: String, _ values: [SQLValue] = [], _ map: (Row) throws -> Value
  ) async throws -> [Value] {
    var all: [Value] = []
    try await forEach(sql, values) { all.append(try map($0)) }
    return all
  }

  /// The first row, as `map` reads it; nil when there is none.
  package func first<Value>(
    _ sql: String, _ values: [SQLValue] = [], _ map: (Row) throws -> Value
  ) async throws -> Value? {
    switch driver {
    case .sqlite(let local): return try local.first(sql, values, map)
    case .postgreSQL(let connection):
      guard let result = try await connection.exchange([Query(sql, values)]).first, result.rows > 0 else {
        return nil
      }
      return try map(Row(source: .postgreSQL(result, row: 0)))
    }
  }

  /// Runs the queries in one round trip, in their order; `each` gets every row with its query's index.
  package func together(_ queries: [Query], _ each: (Int, Row) throws -> Void) async throws {
    switch driver {
    case .sqlite(let local):
      for (index, query) in queries.enumerated() {
        try local.forEach(query.sql, query.values) { try each(index, $0) }
      }
    case .postgreSQL(let connection):
      for (index, result) in try await connection.exchange(queries).enumerated() {
        try await Self.forEach(result, on: connection) { try each(index, $0) }
      }
    }
  }

  /// Runs a statement whose answer nobody needs: on PostgreSQL it goes out with the next one or the commit.
  package func enqueue(_ sql: String, _ values: [SQLValue]) throws(DatabaseError) {
    switch driver {
    case .sqlite(let local): try local.execute(sql, values)
    case .postgreSQL(let connection): connection.enqueue(Query(sql, values))
    }
  }

  package func enqueue(_ query: Query) throws(DatabaseError) { try enqueue(query.sql, query.values) }

  /// Inserts and returns the new row's integer key, the column `id`.
  package func insert(_ sql: String, _ values: [SQLValue]) async throws -> Int64 {
    switch driver {
    case .sqlite(let local): return try local.insert(sql, values)
    case .postgreSQL: return try await first("\(sql) returning id", values) { $0.int64(0) } ?? 0
    }
  }

  /// Between the pieces of work that takes long without asking for anything: on PostgreSQL the event loop sees to others
  /// where it had no turn for 200 µs. On SQLite nothing.
  package func breathe() async {
    if case .postgreSQL(let connection) = driver { await connection.breathe() }
  }

  /// Leaves something else in a large value's place, and on PostgreSQL frees it elsewhere than on the event loop.
  package func discard<Value: Sendable>(_ value: inout Value, leaving other: consuming Value) {
    switch driver {
    case .sqlite: value = other
    case .postgreSQL: Discard.later(&value, leaving: other)
    }
  }

  /// Gives the rest of this transaction ten minutes a statement, and one for locks, whatever the connection's
  /// settings are: for changes of the schema, and for those that wait until another node made them.
  package func allowLongWork() async throws(DatabaseError) {
    guard case .postgreSQL(let connection) = driver else { return }
    connection.patience = 600_000
    for (name, milliseconds) in [
      ("lock_timeout", 60_000), ("statement_timeout", 600_000),
      ("idle_in_transaction_session_timeout", 600_000),
    ] {
      try await execute("set local \(name) = \(milliseconds)")
    }
  }

  /// Runs several statements without parameters: schema changes, written for SQLite (see `Dialect.schema`).
  package func script(_ sql: String) async throws(DatabaseError) {
    switch driver {
    case .sqlite(let local): try local.connection.script(sql)
    case .postgreSQL(let connection): try await connection.script(Dialect.postgreSQL.schema(sql))
    }
  }

  private static func forEach(
    _ result: PostgresResult, on connection: PostgresConnection, _ each: (Row) throws -> Void
  ) async throws {
    for row in 0..<result.rows {
      // Long answers are read in pieces.
      if row & 15 == 15 { await connection.breathe() }
      try each(Row(source: .postgreSQL(result, row: row)))
    }
  }
}
