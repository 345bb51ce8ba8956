import Accounts
import Encodings
import SQL
import Stores
import System

/// What the commands on deletions share.
enum DeletionCommand {
  static let positionals = [
    CommandSyntax.Positional(
      name: "OPERATION", summary: "the operation id, as `admin deletions list` shows it")
  ]

  static func operation(_ arguments: ParsedArguments) throws(UsageError) -> OperationID {
    let text = arguments.positional("OPERATION")
    guard let operation = OperationID(text) else {
      throw .invalid(name: "OPERATION", value: text, expected: "32 hexadecimal digits")
    }
    return operation
  }

  /// One line of the list.
  static func line(_ deletion: Deletion) -> String {
    [
      deletion.operation.description, state(deletion), "user \(deletion.user)",
      "asked \(time(deletion.createdAt))", "by \(by(deletion))", left(deletion),
      deletion.failure ?? "no failure",
    ].joined(separator: "\t")
  }

  static func state(_ deletion: Deletion) -> String {
    switch deletion.state {
    case .open: "begun"
    case .committed: "going forward"
    case .kept: "given up, account kept"
    case .deleted: "deleted"
    }
  }

  static func by(_ deletion: Deletion) -> String {
    deletion.actor.word + (deletion.actor.key.map { " \($0)" } ?? "")
  }

  /// What is left to do.
  static func left(_ deletion: Deletion) -> String {
    let dead = deletion.tokens.count { $0.isDead }
    var parts: [String] = []
    if !deletion.waiting.isEmpty { parts.append("\(deletion.waiting.count) consents to end") }
    if dead > 0 { parts.append("\(dead) consents given up") }
    parts += deletion.owed.map { "\($0) to erase" }
    return parts.isEmpty ? "nothing left" : parts.joined(separator: ", ")
  }

  static func time(_ milliseconds: Int64?) -> String {
    milliseconds.map { CivilTime(secondsSince1970: $0 / 1_000).rfc3339 } ?? "never"
  }
}

/// `bramley admin deletions list`
struct ListDeletions: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "deletions", "list"],
    summary: "List the deletions of accounts that wait or left something.",
    options: OperatedDatabase.options + [
      .init(name: "all", summary: "those of the last 30 days that are done too")
    ],
    discussion: """
      Each line has, parted by tabs: the operation id, how far it is, the user's id, when and by whom it
      was asked for, what is left, and what failed last. A server that runs goes on with what waits by
      itself, ever more seldom; consents at Apple that it gave up wait for
      `bramley admin deletions retry`.
      """)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let all = arguments.flag("all")
    let deletions = try await OperatedDatabase(arguments, console).look {
      try await SQLDeletionStore($0).deletions(all: all, limit: 10_000)
    }
    if deletions.isEmpty { console.note(all ? "no account was deleted" : "no deletion waits") }
    for deletion in deletions { console.print(DeletionCommand.line(deletion)) }
    return .success
  }
}

/// `bramley admin deletions show`
struct ShowDeletion: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "deletions", "show"], summary: "Show all that is known of one deletion.",
    positionals: DeletionCommand.positionals, options: OperatedDatabase.options)

  private let arguments: ParsedArguments
  private let operation: OperationID

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    operation = try DeletionCommand.operation(arguments)
  }

  func run(_ console: Console) async throws -> ExitCode {
    let found = try await OperatedDatabase(arguments, console).look {
      try await SQLDeletionStore($0).deletion(.operation(operation))
    }
    guard let found else { throw CommandFailure(message: "there is no such deletion") }
    let clients = found.tokens.map { "\($0.token.clientID)\($0.isDead ? " (given up)" : "")" }
    for (name, value) in [
      ("operation", found.operation.description), ("state", DeletionCommand.state(found)),
      ("user", found.user.description), ("asked by", DeletionCommand.by(found)),
      ("asked", DeletionCommand.time(found.createdAt)), ("ended", DeletionCommand.time(found.closedAt)),
      ("revocation", found.policy.rawValue), ("consents ended", "\(found.revoked)"),
      ("consents superseded", "\(found.superseded)"),
      ("consents left", clients.isEmpty ? "none" : clients.joined(separator: ", ")),
      ("data left", found.owed.isEmpty ? "none" : found.owed.joined(separator: ", ")),
      ("rounds", "\(found.attempts)"),
      ("next", found.isUnfinished ? DeletionCommand.time(found.nextTry) : "never"),
      ("failure", found.failure ?? "none"),
    ] {
      console.print("\(name)\t\(value)")
    }
    return .success
  }
}

/// `bramley admin deletions retry`
struct RetryDeletion: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "deletions", "retry"], summary: "Have a deletion tried again at once.",
    positionals: DeletionCommand.positionals, options: OperatedDatabase.options,
    discussion: "A server that runs takes it up within a quarter of a minute, with what was given up as well."
  )

  private let arguments: ParsedArguments
  private let operation: OperationID

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    operation = try DeletionCommand.operation(arguments)
  }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    try operated.requireDatabase()
    let retried = try await operated.open {
      try await SQLDeletionStore($0).retry(operation, now: WallClock.milliseconds)
    }
    guard let retried else { throw CommandFailure(message: "there is no such deletion") }
    guard retried.isUnfinished else {
      throw CommandFailure(
        message: retried.state == .kept
          ? "it was given up and the account kept: it has to be asked for anew" : "nothing of it is left")
    }
    return .success
  }
}
