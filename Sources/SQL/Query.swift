/// A statement with its parameters, for several that go to the database together.
package struct Query: Sendable {
  package var sql: String
  package var values: [SQLValue]

  package init(_ sql: String, _ values: [SQLValue] = []) {
    self.sql = sql
    self.values = values
  }
}
