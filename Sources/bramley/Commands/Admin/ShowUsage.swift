import Admission
import Encodings
import Gateway
import Server
import Stores
import System

/// `bramley admin usage`
struct ShowUsage: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "usage"],
    summary: "Show what was used: by day or month, user, function, provider, model.",
    options: [
      .init(name: "from", value: "DATE", summary: "the first day", fallback: "29 days before the last"),
      .init(name: "to", value: "DATE", summary: "the last day", fallback: "today"),
      .init(
        name: "by", value: "LIST", summary: "day or month, and any of user, key, function, provider, model",
        fallback: "day,provider,model"),
      .init(name: "csv", summary: "as comma-separated values (RFC 4180)"),
      .init(name: "json", summary: "as one JSON document"),
    ] + OperatedDatabase.options,
    discussion: """
      Costs are what was booked, in dollars: docs/configuration.md names the prices. Days and months are
      those of the configuration's time_zone, as those of quotas and budgets are; with --data those of
      UTC.
      """)

  private enum Step: String {
    case day
    case month
  }

  private let arguments: ParsedArguments
  private let format: UsageTable.Format
  private let from: CivilDate
  private let to: CivilDate
  private let step: Step?
  private let columns: [UsageColumn]

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    if arguments.flag("csv"), arguments.flag("json") { throw .unexpected("--json") }
    format = arguments.flag("csv") ? .csv : arguments.flag("json") ? .json : .text
    let expected = "a date such as 2026-10-09"
    let today = CivilDate(days: WallClock.seconds / 86_400)
    to = try arguments.value("to", expected: expected) { Self.day($0) } ?? today
    from = try arguments.value("from", expected: expected) { Self.day($0) } ?? CivilDate(days: to.days - 29)
    guard from.days <= to.days else {
      throw .invalid(
        name: "--from", value: arguments.value("from") ?? "", expected: "a day that is not after --to")
    }
    guard to.days - from.days < 40_000 else {
      throw .invalid(name: "--from", value: arguments.value("from") ?? "", expected: "a day nearer to --to")
    }
    let text = arguments.value("by") ?? "day,provider,model"
    var steps: [Step] = []
    var columns: [UsageColumn] = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
      if let step = Step(rawValue: word) {
        steps.append(step)
      } else if let column = UsageColumn(rawValue: word), !columns.contains(column) {
        columns.append(column)
      } else {
        steps = [.day, .month]
        break
      }
    }
    guard steps.count <= 1 else {
      throw .invalid(
        name: "--by", value: text,
        expected: "day or month, and any of user, key, function, provider and model, parted by commas")
    }
    step = steps.first
    self.columns = columns
  }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    let windows = Self.windows(from, to, step, try Self.zone(operated.configuration.timeZone))
    let sums = try await operated.look { [columns] in
      try await SQLUsageReport($0).usageSums(in: windows, by: columns)
    }
    if sums.isEmpty, format == .text { console.note("nothing was used in these days") }
    let names = (step.map { [$0.rawValue] } ?? []) + columns.map(\.rawValue)
    console.write(UsageTable.text(sums, by: names, as: format))
    return .success
  }

  /// The days or months from one day to another, both part of it; one window without a step.
  private static func windows(
    _ from: CivilDate, _ to: CivilDate, _ step: Step?, _ zone: TimeZoneRules
  ) -> [Window] {
    let start = zone.start(of: from) * 1_000
    let end = zone.start(of: CivilDate(days: to.days + 1)) * 1_000
    guard let step else { return [Window(id: "", start: start, end: end)] }
    let period: QuotaPeriod = step == .day ? .day(zone) : .month(zone)
    var windows: [Window] = []
    var next = start
    while next < end {
      var window = period.window(at: next)
      next = window.end
      window.start = max(window.start, start)
      window.end = min(window.end, end)
      windows.append(window)
    }
    return windows
  }

  private static func zone(_ name: String) throws -> TimeZoneRules {
    if name == "UTC" { return .utc }
    guard let file = ZoneFiles.read(name), let zone = try? TimeZoneRules(name: name, tzif: file) else {
      throw CommandFailure(message: "the time zone \(name) is unknown to this machine: install tzdata")
    }
    return zone
  }

  private static func day(_ text: String) -> CivilDate? {
    guard text.utf8.count == 10 else { return nil }
    return RFC3339.seconds(text + "T00:00:00Z").map { CivilDate(days: $0 / 86_400) }
  }
}
