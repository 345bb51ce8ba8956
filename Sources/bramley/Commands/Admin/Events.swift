import Accounts
import Encodings
import Stores
import System

/// What the commands share that show outgoing events.
private enum EventTable {
  static let options = [
    CommandSyntax.Option(
      name: "endpoint", value: "URL", summary: "those for this endpoint alone", fallback: "all"),
    CommandSyntax.Option(name: "limit", value: "N", summary: "how many, newest first", fallback: "100"),
  ]
  static let columns = """
    Each line has, parted by tabs: the id (webhook-id), the type, the state, when it happened, the
    attempts, the endpoint, the user, and what came of the last attempt.
    """
  private static let page: Int64 = 500

  static func limit(_ arguments: ParsedArguments) throws(UsageError) -> Int64 {
    try arguments.value("limit", expected: "a number from 1 to 1000000") { text in
      Int64(text).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
    } ?? 100
  }

  static func print(
    _ state: EventState?, _ limit: Int64, _ arguments: ParsedArguments, _ console: Console
  ) async throws {
    try await OperatedDatabase(arguments, console).look { database in
      let outbox = SQLEventOutbox(database)
      var (left, before) = (limit, Int64?.none)
      while left > 0 {
        let size = min(left, page)
        let events = try await outbox.events(
          state, url: arguments.value("endpoint"), before: before, limit: size)
        for event in events { console.print(line(event)) }
        guard Int64(events.count) == size, let last = events.last else { return }
        left -= size
        before = last.number
      }
    }
  }

  private static func line(_ event: EventRecord) -> String {
    [
      event.id, event.type, event.state.word, CivilTime(secondsSince1970: event.createdAt / 1_000).rfc3339,
      String(event.attempts), event.url, event.user ?? "", event.outcome ?? "",
    ].joined(separator: "\t")
  }
}

extension EventState {
  fileprivate var word: String { "\(self)" }
}

/// `bramley admin events list`
struct ListEvents: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "events", "list"], summary: "List the events for the app's backend, newest first.",
    options: OperatedDatabase.options + [
      .init(name: "state", value: "STATE", summary: "waiting, delivered or dead", fallback: "all")
    ] + EventTable.options,
    discussion: EventTable.columns)

  private let arguments: ParsedArguments
  private let state: EventState?
  private let limit: Int64

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    limit = try EventTable.limit(arguments)
    state = try arguments.value("state", expected: "waiting, delivered or dead") { text in
      EventState.allCases.first { $0.word == text }
    }
  }

  func run(_ console: Console) async throws -> ExitCode {
    try await EventTable.print(state, limit, arguments, console)
    return .success
  }
}

/// `bramley admin events dead`
struct ListDeadEvents: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "events", "dead"], summary: "List the events that were given up, newest first.",
    options: OperatedDatabase.options + EventTable.options,
    discussion: EventTable.columns + "\n`bramley admin events replay --dead` sends them again.")

  private let arguments: ParsedArguments
  private let limit: Int64

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    limit = try EventTable.limit(arguments)
  }

  func run(_ console: Console) async throws -> ExitCode {
    try await EventTable.print(.dead, limit, arguments, console)
    return .success
  }
}

/// `bramley admin events replay`
struct ReplayEvents: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "events", "replay"], summary: "Send events to their endpoint once more.",
    options: OperatedDatabase.options + [
      .init(name: "id", value: "ID", summary: "this one, also where it was delivered"),
      .init(name: "dead", summary: "every one that was given up"),
      .init(name: "endpoint", value: "URL", summary: "with --dead: those for this endpoint alone"),
    ],
    discussion: """
      An event keeps its id, so that an endpoint which has it already can tell. An endpoint that had
      answered 410 is open again. A server that runs sends them within seconds.
      """)

  private let arguments: ParsedArguments
  private let selection: EventSelection

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    switch (arguments.value("id"), arguments.flag("dead")) {
    case (let id?, false):
      guard arguments.value("endpoint") == nil else { throw .unexpected("--endpoint") }
      selection = .id(id)
    case (nil, true): selection = .dead(url: arguments.value("endpoint"))
    case (nil, false): throw .missing("--id ID or --dead")
    case (_?, true): throw .unexpected("--dead")
    }
  }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    try operated.requireDatabase()
    let count = try await operated.open {
      try await SQLEventOutbox($0).replay(selection, now: WallClock.milliseconds)
    }
    if case .id(let id) = selection, count == 0 {
      throw CommandFailure(message: "there is no event \(id), or it waits already")
    }
    console.print("\(count)\tto be sent again")
    return .success
  }
}
