import Accounts
import Encodings

/// The audit log as a table.
enum AuditTable {
  private static let columns = [
    "time", "action", "result", "actor", "address", "device", "user", "session", "reason",
  ]

  /// Each line ended; empty without one.
  static func text(_ entries: [AuditEntry]) -> String {
    if entries.isEmpty { return "" }
    let rows = [columns] + entries.map(cells)
    let widths = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = row.indices.map { column in
        column == columns.count - 1
          ? row[column] : row[column] + String(repeating: " ", count: widths[column] - row[column].count)
      }
      return cells.joined(separator: "  ") + "\n"
    }.joined()
  }

  private static func cells(_ entry: AuditEntry) -> [String] {
    let actor = entry.origin.map { origin in
      origin.actor.key.map { "\(origin.actor.word) \($0)" } ?? origin.actor.word
    }
    return [
      CivilTime(secondsSince1970: entry.time / 1_000).rfc3339, entry.action, entry.result.rawValue,
      actor ?? "-", entry.origin?.address ?? "-",
      entry.origin?.device.map { Base64.encode($0) } ?? "-", entry.user?.description ?? "-",
      entry.session?.description ?? "-", entry.reason ?? "-",
    ]
  }
}
