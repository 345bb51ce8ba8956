import Admission
import SQL

/// The rows of lines that are in use, each loaded once and written once a batch. A slot is a place in it.
final class LineRows {
  struct Key: Hashable {
    var subject: Int64
    var rule: Int64
    /// 0 where the rule has no periods.
    var period: Int64

    func hash(into hasher: inout Hasher) {
      // One word costs less than three; rules and periods are small numbers.
      hasher.combine(subject &+ rule << 40 &+ period << 48)
    }
  }

  private struct Row {
    var key: Key
    var line: LedgerLine
    var isStored: Bool
    var isChanged = false
    /// Its period was swept: it is not to come back.
    var isGone: Bool
  }

  private var rows: [Row] = []
  private var slots: [Key: Int] = [:]
  private var changed: [Int] = []

  var count: Int { rows.count }

  func forget() {
    rows = []
    slots = [:]
    changed = []
  }

  func key(at slot: Int) -> Key { rows[slot].key }

  func line(at slot: Int) -> LedgerLine { rows[slot].line }

  /// - Parameter bounds: the period's; nil for a key whose period is no more.
  func line(
    _ key: Key, bounds: (start: Int64, end: Int64)?, _ statements: LedgerStatements
  ) throws -> LedgerLine {
    if let slot = slots[key] { return rows[slot].line }
    let select = statements.line
    try select.bind(1, key.subject)
    try select.bind(2, key.rule)
    try select.bind(3, key.period)
    let isStored = try select.step()
    let line = LedgerLine(
      slot: rows.count, used: isStored ? select.int64(0) : 0, held: isStored ? select.int64(1) : 0,
      start: bounds?.start ?? 0, end: bounds?.end ?? 0, alarmed: isStored ? select.int64(2) : 0)
    select.reset()
    slots[key] = rows.count
    rows.append(Row(key: key, line: line, isStored: isStored, isGone: bounds == nil))
    return line
  }

  func keep(_ line: LedgerLine) {
    guard rows[line.slot].line != line, !rows[line.slot].isGone else { return }
    rows[line.slot].line = line
    if !rows[line.slot].isChanged {
      rows[line.slot].isChanged = true
      changed.append(line.slot)
    }
  }

  func flush(_ statements: LedgerStatements) throws {
    for slot in changed {
      let row = rows[slot]
      let statement = row.isStored ? statements.updateLine : statements.insertLine
      try statement.bind(1, row.key.subject)
      try statement.bind(2, row.key.rule)
      try statement.bind(3, row.key.period)
      try statement.bind(4, row.line.used)
      try statement.bind(5, row.line.held)
      try statement.bind(6, row.line.alarmed)
      try statement.run()
      rows[slot].isStored = true
      rows[slot].isChanged = false
    }
    changed.removeAll(keepingCapacity: true)
  }
}
