/// What a job does its work with. It must not leave the closure that got it.
package struct Transaction {
  private enum Driver {
    case sqlite(Connection)
    case postgreSQL(PostgresConnection)
  }

  private let driver: Driver

  init(_ connection: Connection) { driver = .sqlite(connection) }

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
  package func execute(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Int {
    switch driver {
    case .sqlite(let connection):
      let statement = try connection.statement(sql)
      try statement.bind(values)
      try statement.run()
    case .postgreSQL(let connection):
      _ = try connection.exchange([Query(sql, values)])
    }
    return changes
  }

  /// Calls `each` for every row.
  package func forEach(
    _ sql: String, _ values: [SQLValue] = [], _ each: (Row) throws -> Void
  ) throws {
    switch driver {
    case .sqlite(let connection):
      let statement = try connection.statement(sql)
      defer { statement.reset() }
      try statement.bind(values)
      while try statement.step() { try each(Row(source: .sqlite(statement))) }
    case .postgreSQL(let connection):
      for result in try connection.exchange([Query(sql, values)]) { try Self.forEach(result, each) }
    }
  }

  /// Every row, as `map` reads it.
  package func rows<Value>(
    _ sql: String, _ values: [SQLValue] = [], _ map: (Row) throws -> Value
  ) throws -> [Value] {
    var all: [Value] = []
    try forEach(sql, values) { all.append(try map($0)) }
    return all
  }

  /// The first row, as `map` reads it; nil when there is none.
  package func first<Value>(
    _ sql: String, _ values: [SQLValue] = [], _ map: (Row) throws -> Value
  ) throws -> Value? {
    switch driver {
    case .sqlite(let connection):
      let statement = try connection.statement(sql)
      defer { statement.reset() }
      try statement.bind(values)
      return try statement.step() ? map(Row(source: .sqlite(statement))) : nil
    case .postgreSQL(let connection):
      guard let result = try connection.exchange([Query(sql, values)]).first, result.rows > 0 else {
        return nil
      }
      return try map(Row(source: .postgreSQL(result, row: 0)))
    }
  }

  /// Runs the queries in one round trip, in their order; `each` gets every row with its query's index.
  package func together(_ queries: [Query], _ each: (Int, Row) throws -> Void) throws {
    switch driver {
    case .sqlite:
      for (index, query) in queries.enumerated() {
        try forEach(query.sql, query.values) { try each(index, $0) }
      }
    case .postgreSQL(let connection):
      for (index, result) in try connection.exchange(queries).enumerated() {
        try Self.forEach(result) { try each(index, $0) }
      }
    }
  }

  /// Runs a statement whose answer nobody needs: on PostgreSQL it goes out with the next one or the commit.
  package func enqueue(_ sql: String, _ values: [SQLValue]) throws(DatabaseError) {
    switch driver {
    case .sqlite: try execute(sql, values)
    case .postgreSQL(let connection): connection.enqueue(Query(sql, values))
    }
  }

  /// The rows that the last statement changed.
  package var changes: Int {
    switch driver {
    case .sqlite(let connection): connection.changes
    case .postgreSQL(let connection): connection.changes
    }
  }

  /// Inserts and returns the new row's integer key, the column `id`.
  package func insert(_ sql: String, _ values: [SQLValue]) throws -> Int64 {
    switch driver {
    case .sqlite(let connection):
      try execute(sql, values)
      return connection.lastInsertedID
    case .postgreSQL:
      return try first("\(sql) returning id", values) { $0.int64(0) } ?? 0
    }
  }

  /// The prepared statement of a text, for loops where binding by index pays. Kept by the connection, on which
  /// alone it may be used. SQLite's alone: on PostgreSQL each run would be a round trip.
  package func statement(_ sql: String) throws(DatabaseError) -> Statement {
    switch driver {
    case .sqlite(let connection): try connection.statement(sql)
    case .postgreSQL: throw .failed(code: 0, "single statements are SQLite's")
    }
  }

  /// Gives the rest of this transaction ten minutes a statement, and one for locks, whatever the connection's
  /// settings are: for changes of the schema, and for those that wait until another node made them.
  package func allowLongWork() throws(DatabaseError) {
    guard case .postgreSQL(let connection) = driver else { return }
    connection.patience = 600_000
    for (name, milliseconds) in [
      ("lock_timeout", 60_000), ("statement_timeout", 600_000),
      ("idle_in_transaction_session_timeout", 600_000),
    ] {
      try execute("set local \(name) = \(milliseconds)")
    }
  }

  /// Runs several statements without parameters: schema changes, written for SQLite (see `Dialect.schema`).
  package func script(_ sql: String) throws(DatabaseError) {
    switch driver {
    case .sqlite(let connection): try connection.script(sql)
    case .postgreSQL(let connection): try connection.script(Dialect.postgreSQL.schema(sql))
    }
  }

  private static func forEach(_ result: PostgresResult, _ each: (Row) throws -> Void) throws {
    for row in 0..<result.rows { try each(Row(source: .postgreSQL(result, row: row))) }
  }
}
