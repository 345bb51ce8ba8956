import Admission
import Encodings
import Stores
import System

/// `bramley admin usage`
struct ShowUsage: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "usage"], summary: "Show what was used, by day, provider and model.",
    options: [
      .init(
        name: "from", value: "DATE", summary: "the first day, in UTC", fallback: "29 days before the last"),
      .init(name: "to", value: "DATE", summary: "the last day, in UTC", fallback: "today"),
      .init(name: "csv", summary: "as comma-separated values (RFC 4180)"),
      .init(name: "json", summary: "as one JSON document"),
    ] + OperatedDatabase.options,
    discussion: "Costs are what was booked, in dollars: docs/configuration.md names the prices.")

  private let arguments: ParsedArguments
  private let format: UsageTable.Format
  /// Milliseconds since 1970; `to` is not part of it.
  private let (from, to): (Int64, Int64)

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    if arguments.flag("csv"), arguments.flag("json") { throw .unexpected("--json") }
    format = arguments.flag("csv") ? .csv : arguments.flag("json") ? .json : .text
    let expected = "a date such as 2026-10-09"
    let last =
      try arguments.value("to", expected: expected) { Self.day($0) } ?? WallClock.seconds / 86_400 * 86_400
    let first = try arguments.value("from", expected: expected) { Self.day($0) } ?? last - 29 * 86_400
    guard first <= last else {
      throw .invalid(
        name: "--from", value: arguments.value("from") ?? "", expected: "a day that is not after --to")
    }
    (from, to) = (first * 1_000, (last + 86_400) * 1_000)
  }

  func run(_ console: Console) async throws -> ExitCode {
    let totals = try await OperatedDatabase(arguments, console).look { [from, to] in
      try await SQLUsageReport($0).usageTotals(from: from, to: to)
    }
    if totals.isEmpty, format == .text { console.note("nothing was used in these days") }
    console.write(UsageTable.text(totals, as: format))
    return .success
  }

  /// The day's beginning, seconds since 1970.
  private static func day(_ text: String) -> Int64? {
    text.utf8.count == 10 ? RFC3339.seconds(text + "T00:00:00Z") : nil
  }
}
