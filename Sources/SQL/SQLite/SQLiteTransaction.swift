/// What a lane's decider does its work with on SQLite: answered on the writer's thread there and then. It must not
/// leave the closure that got it.
package struct SQLiteTransaction {
  let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  /// Runs a statement; the number of rows that it changed.
  @discardableResult
  package func execute(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Int {
    let statement = try connection.statement(sql)
    try statement.bind(values)
    try statement.run()
    return connection.changes
  }

  @discardableResult
  package func execute(_ query: Query) throws(DatabaseError) -> Int { try execute(query.sql, query.values) }

  /// Calls `each` for every row.
  package func forEach(_ sql: String, _ values: [SQLValue] = [], _ each: (Row) throws -> Void) throws {
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() { try each(Row(source: .sqlite(statement))) }
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
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    return try statement.step() ? map(Row(source: .sqlite(statement))) : nil
  }

  /// The rows that the last statement changed.
  package var changes: Int { connection.changes }

  /// Inserts and returns the new row's integer key, the column `id`.
  package func insert(_ sql: String, _ values: [SQLValue]) throws(DatabaseError) -> Int64 {
    try execute(sql, values)
    return connection.lastInsertedID
  }

  /// The prepared statement of a text, for loops where binding by index pays. Kept by the connection, on which
  /// alone it may be used.
  package func statement(_ sql: String) throws(DatabaseError) -> Statement { try connection.statement(sql) }
}
