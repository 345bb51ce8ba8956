import Accounts
import Encodings
import Server
import Stores

/// `bramley admin audit`
struct ShowAudit: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "audit"], summary: "Show the audit log, newest first.",
    options: [
      .init(name: "user", value: "ID", summary: "of this user alone"),
      .init(name: "action", value: "ACTION", summary: "of this act alone, such as token_revoked"),
      .init(name: "from", value: "TIME", summary: "the first instant, or day in UTC"),
      .init(name: "to", value: "TIME", summary: "the first instant, or day, that is not shown any more"),
      .init(name: "limit", value: "COUNT", summary: "lines at most", fallback: "100"),
      .init(name: "json", summary: "as one JSON document"),
    ] + OperatedDatabase.options,
    discussion: """
      Each line has: when, what, what became of it, who asked (an operator's key by its name), from which
      address, with which device's key, about which user, in which session, why. docs/audit.md says what
      is written.
      """)

  private static let page: Int64 = 1_000

  private let arguments: ParsedArguments
  private let filter: AuditFilter
  private let limit: Int64

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    let time = "a day such as 2026-10-09, or 2026-10-09T18:00:00Z"
    filter = AuditFilter(
      user: try arguments.value("user", expected: "a user's id") { UUID($0) },
      action: try arguments.value(
        "action", expected: "one of " + AuditAction.allCases.map(\.rawValue).joined(separator: ", ")
      ) { AuditAction(rawValue: $0)?.rawValue },
      from: try arguments.value("from", expected: time) { AuditTime.seconds($0).map { $0 * 1_000 } },
      to: try arguments.value("to", expected: time) { AuditTime.seconds($0).map { $0 * 1_000 } })
    limit =
      try arguments.value("limit", expected: "a number from 1 to 1000000") { text in
        Int64(text).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
      } ?? 100
  }

  func run(_ console: Console) async throws -> ExitCode {
    let entries = try await OperatedDatabase(arguments, console).look { [filter, limit] database in
      let store = SQLAuditStore(database)
      var entries: [AuditEntry] = []
      while entries.count < limit {
        let wanted = min(Self.page, limit - Int64(entries.count))
        let more = try await store.audit(filter, before: entries.last?.id, limit: wanted)
        entries += more
        if more.count < wanted { break }
      }
      return entries
    }
    let isJSON = arguments.flag("json")
    if entries.isEmpty, !isJSON { console.note("there is nothing of that") }
    console.write(
      isJSON
        ? JSONValue.object([("entries", .array(entries.map(\.json)))]).text + "\n" : AuditTable.text(entries))
    return .success
  }
}
