import Admission
import Encodings
import Gateway

/// Sums of usage as text.
enum UsageTable {
  enum Format: Sendable {
    case text
    case csv
    case json
  }

  private static let amounts = [
    "requests", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "images",
    "units", "cost_dollars",
  ]

  /// Each line ended.
  ///
  /// - Parameter columns: what the sums are told apart by; the first of them may be the window.
  static func text(_ sums: [UsageSum], by columns: [String], as format: Format) -> String {
    let names = columns + amounts
    let rows = sums.map { cells($0, columns) }
    switch format {
    case .json:
      let lines = rows.map { row in
        JSONValue.object(
          zip(names, row).map { name, cell in
            (name, columns.contains(name) || name == "cost_dollars" ? .string(cell) : .number(cell))
          })
      }
      return JSONValue.object([("usage", .array(lines))]).text + "\n"
    case .csv:
      return ([names] + rows).map { row in
        row.map(quoted).joined(separator: ",") + "\r\n"
      }.joined()
    case .text:
      if rows.isEmpty { return "" }
      let table = [names.map { $0.split(separator: "_").joined(separator: " ") }] + rows
      let widths = names.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
      return table.map { row in
        row.indices.map { column in
          let pad = String(repeating: " ", count: widths[column] - row[column].count)
          return column < columns.count ? row[column] + pad : pad + row[column]
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

  /// Millionths of a unit as units, exactly.
  static func units(_ amount: Int64) -> String {
    let digits = String(amount.magnitude)
    let padded = String(repeating: "0", count: max(0, 7 - digits.count)) + digits
    var places = padded.suffix(6)
    while places.last == "0" { places.removeLast() }
    return "\(amount < 0 ? "-" : "")\(padded.dropLast(6))\(places.isEmpty ? "" : ".\(places)")"
  }

  private static func cells(_ sum: UsageSum, _ columns: [String]) -> [String] {
    // A window is named by its day or month; without one there is but the value of each column.
    let windows = columns.count > sum.values.count ? [sum.window.id] : []
    return windows + sum.values + [
      "\(sum.requests)", "\(sum.inputTokens)", "\(sum.cacheReadTokens)", "\(sum.cacheWriteTokens)",
      "\(sum.outputTokens)", "\(sum.images)", units(sum.units), dollars(sum.cost),
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
