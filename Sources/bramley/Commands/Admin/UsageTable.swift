import Admission
import Encodings

/// Sums of usage as text.
enum UsageTable {
  enum Format: Sendable {
    case text
    case csv
    case json
  }

  private static let columns = [
    "day", "provider", "model", "requests", "input_tokens", "cache_read_tokens", "cache_write_tokens",
    "output_tokens", "cost_dollars",
  ]

  /// Each line ended.
  static func text(_ totals: [UsageTotal], as format: Format) -> String {
    switch format {
    case .json:
      let days = totals.map { total in
        JSONValue.object(
          zip(columns, cells(total)).enumerated().map { index, cell in
            (cell.0, index < 3 || cell.0 == "cost_dollars" ? .string(cell.1) : .number(cell.1))
          })
      }
      return JSONValue.object([("usage", .array(days))]).text + "\n"
    case .csv:
      return ([columns] + totals.map(cells)).map { row in
        row.map(quoted).joined(separator: ",") + "\r\n"
      }.joined()
    case .text:
      if totals.isEmpty { return "" }
      let rows = [columns.map { $0.split(separator: "_").joined(separator: " ") }] + totals.map(cells)
      let widths = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
      return rows.map { row in
        row.indices.map { column in
          let pad = String(repeating: " ", count: widths[column] - row[column].count)
          return column < 3 ? row[column] + pad : pad + row[column]
        }.joined(separator: "  ") + "\n"
      }.joined()
    }
  }

  /// Pico-dollars as dollars, exactly, two places at least.
  static func dollars(_ amount: Int64) -> String {
    let digits = String(amount.magnitude)
    let padded = String(repeating: "0", count: max(0, 13 - digits.count)) + digits
    var places = String(padded.suffix(12))
    while places.count > 2, places.hasSuffix("0") { places.removeLast() }
    return "\(amount < 0 ? "-" : "")\(padded.dropLast(12)).\(places)"
  }

  private static func cells(_ total: UsageTotal) -> [String] {
    [
      String(CivilTime(secondsSince1970: total.day / 1_000).rfc3339.prefix(10)), total.provider, total.model,
      "\(total.requests)", "\(total.inputTokens)", "\(total.cacheReadTokens)", "\(total.cacheWriteTokens)",
      "\(total.outputTokens)", dollars(total.cost),
    ]
  }

  /// A field of RFC 4180. One that a spreadsheet would take for a formula is none: models are named by clients.
  private static func quoted(_ field: String) -> String {
    let safe = field.first.map { "=+-@\t\r".contains($0) } == true ? "'" + field : field
    guard safe.contains(where: { "\",\r\n".contains($0) || $0.isNewline }) else { return safe }
    return "\"" + safe.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }
}
