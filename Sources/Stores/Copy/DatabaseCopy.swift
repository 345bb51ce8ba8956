package import SQL

/// Moves everything from a SQLite database into an empty PostgreSQL one. It may be ended at any time and begun
/// again: each page of rows is one transaction that also notes how far it got.
///
/// Both are marked, so that no server runs on one that is half there, nor on the old one once it was copied: two
/// servers would accept the same requests (RULES §1.5).
package struct DatabaseCopy: Sendable {
  /// What is in the way.
  package enum Refusal: Error, Equatable, CustomStringConvertible {
    /// The source lacks steps of the schema.
    case sourceNotMigrated
    /// Rows are in the target that are not of this copy.
    case targetNotEmpty(table: String)
    /// The target has a copy of another database in it.
    case otherSource
    /// It was copied to the end before.
    case done
    /// What was read back is not what was written.
    case differs(table: String)

    package var description: String {
      switch self {
      case .sourceNotMigrated: "the database has an older schema: run `bramley migrate` first"
      case .targetNotEmpty(let table):
        "the target holds rows already (\(table)): give it an empty database or an empty schema"
      case .otherSource: "the target has a part of another database in it: empty it first"
      case .done: "this database was copied there before, to its end"
      case .differs(let table):
        "\(table) is not the same in both: nothing may write to either while they are copied; empty the target and begin anew"
      }
    }
  }

  /// The facts that mark a database.
  package enum Mark {
    /// Of the source: where it was copied to.
    package static let moved = "moved_to"
    /// Of both: which copy it is.
    static let copy = "copy_id"
    /// Of the target, until all is there.
    package static let incomplete = "copy_incomplete"
    static let cursor = "copy_cursor:"
  }

  /// The rows of a table.
  package struct Count: Sendable, Equatable {
    package var table: String
    package var rows: Int64
  }

  private let source: Database
  private let target: Database
  private let pageSize: Int

  /// - Parameters:
  ///   - source: nobody else writes to it meanwhile.
  ///   - target: nobody else uses it.
  ///   - pageSize: rows that are read, written and compared at once.
  package init(from source: Database, to target: Database, pageSize: Int = 500) {
    self.source = source
    self.target = target
    self.pageSize = max(pageSize, 1)
  }

  /// Copies what is missing and compares everything, row by row.
  ///
  /// - Parameters:
  ///   - id: marks both; that of an earlier attempt is kept instead.
  ///   - place: where the target is, without secrets.
  ///   - now: seconds since 1970.
  ///   - progress: told after each page how many rows of a table are there; what it throws ends the copy.
  /// - Returns: the rows of each table, which are the same on both sides.
  package func run(
    id: String, place: String, now: Int64, progress: (String, Int64) throws -> Void = { _, _ in }
  ) async throws -> [Count] {
    guard try await Migrator(Schema.migrations).pending(source).isEmpty else {
      throw Refusal.sourceNotMigrated
    }
    try await Schema.migrate(target, now: now)
    let found = try await source.read { try await CopiedTable.all($0) }
    let tables = try await target.read { transaction in
      var tables: [CopiedTable] = []
      for table in found { tables.append(try await table.suited(to: transaction)) }
      return tables
    }
    try await begin(tables, id: id, place: place)
    for table in tables { try await copy(table, progress) }
    var counts: [Count] = []
    for table in tables { counts.append(Count(table: table.name, rows: try await compare(table))) }
    try await end(tables)
    return counts
  }

  /// Takes the mark from a source whose copy is not wanted any more, so that servers take it again; false where
  /// there is none.
  package static func abandon(_ source: Database) async throws -> Bool {
    try await source.write { transaction in
      try await transaction.execute("delete from meta where name = $1", [.text(Mark.copy)])
      return try await transaction.execute("delete from meta where name = $1", [.text(Mark.moved)]) > 0
    }
  }

  private func begin(_ tables: [CopiedTable], id: String, place: String) async throws {
    let id = try await source.write { transaction in
      let kept = try await transaction.meta(Mark.copy)
      if kept == nil { try await transaction.setMeta(Mark.copy, id) }
      try await transaction.setMeta(Mark.moved, place)
      return kept ?? id
    }
    let facts = try await source.read { transaction in
      try await transaction.rows(
        "select name, value from meta where name not in ($1, $2)", [.text(Mark.copy), .text(Mark.moved)]
      ) { ($0.string(0), $0.string(1)) }
    }
    try await target.write { transaction in
      if let other = try await transaction.meta(Mark.copy) {
        guard other == id else { throw Refusal.otherSource }
        guard try await transaction.meta(Mark.incomplete) != nil else { throw Refusal.done }
        return
      }
      for table in tables where table.name != Self.seeded {
        guard try await table.count(transaction) == 0 else { throw Refusal.targetNotEmpty(table: table.name) }
      }
      try await transaction.execute("delete from \(Self.seeded)")
      for (name, value) in facts { try await transaction.setMeta(name, value) }
      try await transaction.setMeta(Mark.copy, id)
      try await transaction.setMeta(Mark.incomplete, "yes")
    }
  }

  /// The table that has its row from the schema.
  private static let seeded = "challenge_floor"

  private func copy(_ table: CopiedTable, _ progress: (String, Int64) throws -> Void) async throws {
    let mark = Mark.cursor + table.name
    var last = try await target.read { try await $0.meta(mark) }.flatMap { CopyCursor.read($0) }
    var done = try await target.read { try await table.count($0) }
    while true {
      let (from, size) = (last, pageSize)
      let page = try await source.read { try await table.page(after: from, limit: size, $0) }
      guard let end = page.last else { return }
      let key = table.key(of: end)
      guard let spelled = CopyCursor.spell(key) else { throw Refusal.differs(table: table.name) }
      try await target.write { transaction in
        try await table.insert(page, transaction)
        try await transaction.setMeta(mark, spelled)
      }
      last = key
      done += Int64(page.count)
      try progress(table.name, done)
    }
  }

  /// The rows of the table, once every one of them is known to be the same in both.
  private func compare(_ table: CopiedTable) async throws -> Int64 {
    var last: [SQLValue]?
    var compared: Int64 = 0
    while true {
      let (from, size) = (last, pageSize)
      let page = try await source.read { try await table.page(after: from, limit: size, $0) }
      guard let end = page.last else { break }
      let key = table.key(of: end)
      let other = try await target.read { try await table.rows(after: from, upTo: key, $0) }
      guard page == other else { throw Refusal.differs(table: table.name) }
      last = key
      compared += Int64(page.count)
    }
    guard try await target.read({ try await table.count($0) }) == compared else {
      throw Refusal.differs(table: table.name)
    }
    return compared
  }

  private func end(_ tables: [CopiedTable]) async throws {
    try await target.write { transaction in
      for table in tables {
        try await table.continueCounting(transaction)
        try await transaction.execute("delete from meta where name = $1", [.text(Mark.cursor + table.name)])
      }
      try await transaction.execute("delete from meta where name = $1", [.text(Mark.incomplete)])
    }
  }
}
