import SQL

/// A table of a SQLite database as it is copied: a page of rows at a time, in the order of its primary key.
struct CopiedTable: Sendable {
  struct Column: Sendable {
    enum Kind: String, Sendable {
      case integer
      case text
      case blob
      case real
      /// A blob in the source, which has no such type.
      case uuid
    }

    var name: String
    var kind: Kind
  }

  var name: String
  var columns: [Column]
  /// The places of the primary key's columns, in its order.
  var key: [Int]

  /// Every table that holds data, those before that others refer to.
  static func all(_ transaction: Transaction) async throws -> [CopiedTable] {
    let names = try await transaction.rows(
      """
      select name from sqlite_master where type = 'table' and name not like 'sqlite%'
        and name not in ('schema_versions', 'meta') order by name
      """
    ) { $0.string(0) }
    var left = names
    var sorted: [String] = []
    while !left.isEmpty {
      var free: [String] = []
      for name in left {
        let others = try await transaction.rows(
          "select \"table\" from pragma_foreign_key_list($1)", [.text(name)]
        ) { $0.string(0) }
        if others.allSatisfy({ $0 == name || !left.contains($0) }) { free.append(name) }
      }
      // Tables that refer to each other have no order; there are none.
      guard !free.isEmpty else { throw DatabaseError.failed(code: 0, "tables refer to each other: \(left)") }
      sorted += free
      left.removeAll { free.contains($0) }
    }
    var tables: [CopiedTable] = []
    for name in sorted { tables.append(try await CopiedTable(name, transaction)) }
    return tables
  }

  private init(_ name: String, _ transaction: Transaction) async throws {
    let found = try await transaction.rows(
      "select name, lower(type), pk from pragma_table_info($1) order by cid", [.text(name)]
    ) { (name: $0.string(0), type: $0.string(1), key: $0.int(2)) }
    self.name = name
    columns = try found.map { column in
      guard let kind = Column.Kind(rawValue: column.type) else {
        throw DatabaseError.failed(code: 0, "\(name).\(column.name) has the unknown type \(column.type)")
      }
      return Column(name: column.name, kind: kind)
    }
    key = found.indices.filter { found[$0].key > 0 }.sorted { found[$0].key < found[$1].key }
    guard !key.isEmpty else { throw DatabaseError.failed(code: 0, "\(name) has no primary key") }
  }

  /// The table with the types of PostgreSQL that SQLite does not tell.
  func suited(to target: Transaction) async throws -> CopiedTable {
    guard target.dialect == .postgreSQL else { return self }
    let names = try await target.rows(
      """
      select column_name from information_schema.columns
      where table_schema = current_schema() and table_name = $1 and udt_name = 'uuid'
      """, [.text(name)]
    ) { $0.string(0) }
    var table = self
    for place in columns.indices where names.contains(columns[place].name) {
      table.columns[place].kind = .uuid
    }
    return table
  }

  /// The rows after the one with that key, in order, at most `limit`; nil begins with the first.
  func page(after last: [SQLValue]?, limit: Int, _ transaction: Transaction) async throws -> [[SQLValue]] {
    try await rows(
      last.map { "where \(keyTuple(transaction.dialect)) > \(Self.parameters(1, $0.count))" } ?? "",
      (last ?? []) + [.integer(Int64(limit))], limit: "limit $\((last?.count ?? 0) + 1)", transaction)
  }

  /// The rows after one key up to another, which is one of them.
  func rows(
    after last: [SQLValue]?, upTo end: [SQLValue], _ transaction: Transaction
  ) async throws -> [[SQLValue]] {
    let key = keyTuple(transaction.dialect)
    var condition = "where \(key) <= \(Self.parameters(1, end.count))"
    if let last { condition += " and \(key) > \(Self.parameters(end.count + 1, last.count))" }
    return try await rows(condition, end + (last ?? []), limit: "", transaction)
  }

  /// Adds rows, as few or many as one page has.
  func insert(_ rows: [[SQLValue]], _ transaction: Transaction) async throws {
    let width = columns.count
    let lines = rows.indices.map { Self.parameters($0 * width + 1, width) }
    try await transaction.execute(
      "insert into \(name) (\(list(columns.indices.map { $0 }))) values \(lines.joined(separator: ", "))",
      rows.flatMap { $0 })
  }

  func count(_ transaction: Transaction) async throws -> Int64 {
    try await transaction.first("select count(*) from \(name)") { $0.int64(0) } ?? 0
  }

  /// Lets a key that PostgreSQL counts up go on after the highest that was copied.
  func continueCounting(_ transaction: Transaction) async throws {
    guard transaction.dialect == .postgreSQL, key.count == 1, columns[key[0]].kind == .integer else { return }
    let column = columns[key[0]].name
    _ = try await transaction.rows(
      """
      select setval(pg_get_serial_sequence($1, $2), (select max(\(column)) from \(name)))
      where pg_get_serial_sequence($1, $2) is not null and exists (select 1 from \(name))
      """, [.text(name), .text(column)]
    ) { $0.int64(0) }
  }

  func key(of row: [SQLValue]) -> [SQLValue] { key.map { row[$0] } }

  private func rows(
    _ condition: String, _ values: [SQLValue], limit: String, _ transaction: Transaction
  ) async throws -> [[SQLValue]] {
    let order = key.map { ordered($0, transaction.dialect) }.joined(separator: ", ")
    return try await transaction.rows(
      "select \(list(columns.indices.map { $0 })) from \(name) \(condition) order by \(order) \(limit)",
      values
    ) { row in
      columns.enumerated().map { index, column in
        let place = Int32(clamping: index)
        if row.isNull(place) { return .null }
        return switch column.kind {
        case .integer: .integer(row.int64(place))
        case .text: .text(row.string(place))
        case .blob: .blob(row.bytes(place))
        case .real: .real(row.double(place))
        case .uuid: .uuid(row.bytes(place))
        }
      }
    }
  }

  private func list(_ places: [Int]) -> String { places.map { columns[$0].name }.joined(separator: ", ") }

  private func keyTuple(_ dialect: Dialect) -> String {
    "(\(key.map { ordered($0, dialect) }.joined(separator: ", ")))"
  }

  /// Texts are in the order of their octets, as SQLite has them, whatever the language of the other database.
  private func ordered(_ place: Int, _ dialect: Dialect) -> String {
    let column = columns[place]
    return dialect == .postgreSQL && column.kind == .text ? "\(column.name) collate \"C\"" : column.name
  }

  private static func parameters(_ first: Int, _ count: Int) -> String {
    "(\((first..<first + count).map { "$\($0)" }.joined(separator: ", ")))"
  }
}
