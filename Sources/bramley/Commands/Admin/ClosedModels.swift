import Accounts
import Admission
import Encodings
import Stores
import System

/// `bramley admin models list`
struct ListClosedModels: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "models", "list"], summary: "List the models that a call closed by its cost.",
    options: OperatedDatabase.options,
    discussion: """
      A call that cost more than was reserved for it closes its model, for every server on the database
      and over restarts: the price or a bound in the configuration is wrong. Mend that, then
      `bramley admin models reopen`. Each line has, parted by tabs: the model, since when, what the call
      cost, what was reserved.
      """)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let closures = try await OperatedDatabase(arguments, console).look {
      try await SQLModelClosureStore($0).closures()
    }
    if closures.isEmpty { console.note("no model is closed") }
    for closure in closures {
      console.print(
        [
          "\(closure.model.provider)/\(closure.model.name)",
          "since \(CivilTime(secondsSince1970: closure.closedAt / 1_000).rfc3339)",
          "cost \(UsageTable.dollars(closure.cost)) $", "reserved \(UsageTable.dollars(closure.reserve)) $",
        ].joined(separator: "\t"))
    }
    return .success
  }
}

/// `bramley admin models reopen`
struct ReopenModel: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "models", "reopen"], summary: "Open a closed model: its cost was looked at.",
    positionals: [.init(name: "MODEL", summary: "provider/model, as `admin models list` shows it")],
    options: OperatedDatabase.options)

  private let arguments: ParsedArguments
  private let model: ProviderModel

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    let text = arguments.positional("MODEL")
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2 else {
      throw .invalid(name: "MODEL", value: text, expected: "a provider and a model, parted by a slash")
    }
    model = ProviderModel(provider: parts[0], name: parts[1])
  }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    try operated.requireDatabase()
    let act = OperatorAct(.command, now: WallClock.milliseconds)
    guard try await operated.open({ try await SQLModelClosureStore($0, act).reopen(model) }) else {
      throw CommandFailure(message: "\(model.provider)/\(model.name) is not closed")
    }
    return .success
  }
}
