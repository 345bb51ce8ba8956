import Admission
import SQL

/// The locked lines of one batch.
final class SharedLines {
  typealias Key = LineRows.Key

  private struct Row {
    var key: Key
    var line: LedgerLine
    var isChanged = false
    /// Its period was swept: it is not to come back.
    var isGone: Bool
  }

  private var rows: [Row] = []
  private var slots: [Key: Int] = [:]
  private var changed: [Int] = []

  func key(at slot: Int) -> Key { rows[slot].key }
  func line(at slot: Int) -> LedgerLine { rows[slot].line }

  /// nil for one that was not loaded.
  func line(_ key: Key) -> LedgerLine? { slots[key].map { rows[$0].line } }

  /// A line that counts for nothing any more.
  func addGone(_ key: Key) {
    if slots[key] == nil { append(key, LedgerLine(slot: rows.count), isGone: true) }
  }

  /// Something in the place of a line that is lacking; nothing of it is written.
  func standIn(_ bounds: (start: Int64, end: Int64)) -> LedgerLine {
    let line = LedgerLine(slot: rows.count, start: bounds.start, end: bounds.end)
    rows.append(Row(key: Key(subject: 0, rule: 0, period: 0), line: line, isGone: true))
    return line
  }

  /// Lines on their way.
  struct Loading {
    fileprivate var keys: [Key] = []
    /// Those that may have to be made.
    fileprivate var unsure: [Key] = []
    fileprivate var bounds: [Key: (start: Int64, end: Int64)] = [:]
    fileprivate var made: Set<Key> = []

    /// Makes those that are missing and locks all, in the order of their keys.
    var queries: [Query] {
      if keys.isEmpty { return [] }
      let lock = Query(SharedLines.lock, SharedLines.columns(keys))
      return unsure.isEmpty ? [lock] : [Query(SharedLines.make, SharedLines.columns(unsure)), lock]
    }
  }

  /// - Parameter bounds: the periods' bounds by key.
  func loading(_ bounds: [Key: (start: Int64, end: Int64)], _ names: SharedNames) -> Loading {
    let keys = bounds.keys.filter { slots[$0] == nil }
      .sorted { ($0.subject, $0.rule, $0.period) < ($1.subject, $1.rule, $1.period) }
    return Loading(keys: keys, unsure: keys.filter { !names.stored.contains($0) }, bounds: bounds)
  }

  /// A row of one of the queries.
  func take(_ row: SQL.Row, of query: Int, _ loading: inout Loading) {
    let key = Key(subject: row.int64(0), rule: row.int64(1), period: row.int64(2))
    if query == 0, !loading.unsure.isEmpty {
      loading.made.insert(key)
      return
    }
    let (start, end) = loading.bounds[key] ?? (0, 0)
    append(
      key,
      LedgerLine(
        slot: rows.count, used: row.int64(3), held: row.int64(4), start: start, end: end,
        alarmed: row.int64(5)),
      isGone: false)
  }

  /// Whether all of these are here and locked.
  func hold(_ keys: some Sequence<Key>) -> Bool { keys.allSatisfy { slots[$0] != nil } }

  /// After the last row.
  func finish(_ loading: Loading, _ names: SharedNames) throws {
    guard hold(loading.keys) else { throw DatabaseError.conflict }
    names.markStored(loading.unsure.filter { !loading.made.contains($0) })
  }

  /// Makes those that are missing and locks all.
  func load(
    _ bounds: [Key: (start: Int64, end: Int64)], _ names: SharedNames, _ transaction: Transaction
  ) async throws {
    var loading = loading(bounds, names)
    let queries = loading.queries
    guard !queries.isEmpty else { return }
    try await transaction.together(queries) { take($1, of: $0, &loading) }
    try finish(loading, names)
  }

  fileprivate static let make = """
    insert into lines (subject, rule, period, used, held)
    select w.subject, w.rule, w.period, 0, 0 from unnest($1::bigint[], $2::bigint[], $3::bigint[])
      w (subject, rule, period)
    on conflict (subject, rule, period) do nothing returning subject, rule, period
    """
  fileprivate static let lock = """
    select l.subject, l.rule, l.period, l.used, l.held, l.alarmed from lines l
    join unnest($1::bigint[], $2::bigint[], $3::bigint[]) w (subject, rule, period)
      on l.subject = w.subject and l.rule = w.rule and l.period = w.period
    order by l.subject, l.rule, l.period for update of l
    """

  func keep(_ line: LedgerLine) {
    guard rows[line.slot].line != line, !rows[line.slot].isGone else { return }
    rows[line.slot].line = line
    if !rows[line.slot].isChanged {
      rows[line.slot].isChanged = true
      changed.append(line.slot)
    }
  }

  func flush(_ transaction: Transaction) throws {
    guard !changed.isEmpty else { return }
    let lines = changed.map { rows[$0] }
    try transaction.enqueue(
      """
      update lines l set used = w.used, held = w.held, alarmed = w.alarmed
      from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
        w (subject, rule, period, used, held, alarmed)
      where l.subject = w.subject and l.rule = w.rule and l.period = w.period
      """,
      Self.columns(lines.map(\.key))
        + [
          .integers(lines.map(\.line.used)), .integers(lines.map(\.line.held)),
          .integers(lines.map(\.line.alarmed)),
        ])
  }

  private func append(_ key: Key, _ line: LedgerLine, isGone: Bool) {
    slots[key] = rows.count
    rows.append(Row(key: key, line: line, isGone: isGone))
  }

  fileprivate static func columns(_ keys: [Key]) -> [SQLValue] {
    [.integers(keys.map(\.subject)), .integers(keys.map(\.rule)), .integers(keys.map(\.period))]
  }
}
