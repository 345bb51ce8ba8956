import Admission

/// `bramley keys debug revoke`
struct RevokeDebugKey: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "debug", "revoke"], summary: "End a token for a simulator.",
    positionals: [.init(name: "NAME", summary: "the token's name")], options: OperatedDatabase.options)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let name = arguments.positional("NAME")
    try await DebugKeyStore.with(arguments, console) { store, _ in
      guard try await store.revokeDebugToken(name: name) else {
        throw CommandFailure(message: "there is no token “\(name)”")
      }
    }
    return .success
  }
}
