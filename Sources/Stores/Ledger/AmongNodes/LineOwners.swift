import Admission
import SQL

/// Whose rows of the ledger some are, asked for where an alarm has to tell it.
struct LineOwners {
  /// By the numbers that lines have of them.
  var subjects: [Int64: LineSubject] = [:]
  var rules: [Int64: String] = [:]

  static func subjects(_ keys: Set<LineRows.Key>) -> Query {
    Query(
      "select id, kind, name from subjects where id = any($1)", [.integers(keys.map { -$0.subject }.sorted())]
    )
  }

  static func rules(_ keys: Set<LineRows.Key>) -> Query {
    Query("select id, name from rules where id = any($1)", [.integers(keys.map(\.rule).sorted())])
  }

  /// - Parameter row: of `subjects`.
  mutating func add(subject row: Row) {
    guard let kind = LineSubject.Kind(rawValue: row.int64(1)) else { return }
    subjects[-row.int64(0)] = .named(kind, row.string(2))
  }
}
