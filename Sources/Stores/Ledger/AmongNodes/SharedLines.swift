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

  /// Makes those that are missing and locks all, in the order of their keys.
  ///
  /// - Parameter bounds: the periods' bounds by key.
  func load(
    _ bounds: [Key: (start: Int64, end: Int64)], _ names: SharedNames, _ transaction: Transaction
  ) throws {
    let keys = bounds.keys.filter { slots[$0] == nil }
      .sorted { ($0.subject, $0.rule, $0.period) < ($1.subject, $1.rule, $1.period) }
    guard !keys.isEmpty else { return }
    let unsure = keys.filter { !names.stored.contains($0) }
    var made: Set<Key> = []
    try transaction.together([
      Query(
        """
        insert into lines (subject, rule, period, used, held)
        select w.subject, w.rule, w.period, 0, 0 from unnest($1::bigint[], $2::bigint[], $3::bigint[])
          w (subject, rule, period)
        on conflict (subject, rule, period) do nothing returning subject, rule, period
        """, Self.columns(unsure)),
      Query(
        """
        select l.subject, l.rule, l.period, l.used, l.held, l.alarmed from lines l
        join unnest($1::bigint[], $2::bigint[], $3::bigint[]) w (subject, rule, period)
          on l.subject = w.subject and l.rule = w.rule and l.period = w.period
        order by l.subject, l.rule, l.period for update of l
        """, Self.columns(keys)),
    ]) { index, row in
      let key = Key(subject: row.int64(0), rule: row.int64(1), period: row.int64(2))
      if index == 0 {
        made.insert(key)
      } else {
        let (start, end) = bounds[key] ?? (0, 0)
        append(
          key,
          LedgerLine(
            slot: rows.count, used: row.int64(3), held: row.int64(4), start: start, end: end,
            alarmed: row.int64(5)),
          isGone: false)
      }
    }
    guard keys.allSatisfy({ slots[$0] != nil }) else { throw DatabaseError.conflict }
    names.markStored(unsure.filter { !made.contains($0) })
  }

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

  private static func columns(_ keys: [Key]) -> [SQLValue] {
    [.integers(keys.map(\.subject)), .integers(keys.map(\.rule)), .integers(keys.map(\.period))]
  }
}
