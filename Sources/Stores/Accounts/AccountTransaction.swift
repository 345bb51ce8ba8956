import Encodings
import SQL

extension Database {
  /// Runs a step on accounts. On PostgreSQL it sees what others committed while it waited for its locks, which every
  /// step takes in one order: names of identities and addresses, users by id, sessions, what hangs on identities. So
  /// those who come at once wait in a line, and none in a circle.
  @discardableResult func accountStep<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) async throws -> Value
  ) async throws -> Value {
    try await write { transaction in
      if transaction.dialect == .postgreSQL {
        try transaction.enqueue("set transaction isolation level read committed", [])
      }
      return try await body(transaction)
    }
  }
}

extension Transaction {
  /// Waits until nobody else is at any of these names, and keeps others from them until the end.
  func lock(names: [String]) async throws {
    guard dialect == .postgreSQL, !names.isEmpty else { return }
    // In order of their numbers, so that nobody waits in a circle; two names may share one.
    try await forEach(
      """
      select pg_advisory_xact_lock(n) from
        (select distinct hashtextextended(name, 42) n from unnest($1::text[]) t (name) order by n) l
      """, [.texts(names)]
    ) { _ in }
  }
}

extension SQLValue {
  init(_ id: UUID) { self = .uuid(id.octets) }

  /// NULL for nil.
  init(_ id: UUID?) { self = if let id { .uuid(id.octets) } else { .null } }

  init(_ value: Bool) { self = .integer(value ? 1 : 0) }

  init(_ value: JSONValue) { self = .text(value.text) }
}

extension Row {
  func uuid(_ column: Int32) throws -> UUID {
    guard let id = UUID(octets: bytes(column)) else { throw DatabaseError.corrupt("an id is no UUID") }
    return id
  }

  func optionalUUID(_ column: Int32) throws -> UUID? { isNull(column) ? nil : try uuid(column) }

  func optionalBool(_ column: Int32) -> Bool? { isNull(column) ? nil : bool(column) }

  func json(_ column: Int32) throws -> JSONValue {
    let text = bytes(column)
    if text == [0x7B, 0x7D] { return .object([]) }
    do {
      return try JSONReader.read(text).value
    } catch {
      throw DatabaseError.corrupt("a JSON text cannot be read")
    }
  }
}
