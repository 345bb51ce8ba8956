import Accounts

/// `bramley keys admin revoke`
struct RevokeAdminKey: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "admin", "revoke"], summary: "End a key of an operator.",
    positionals: [.init(name: "NAME", summary: "the key's name")], options: OperatedDatabase.options)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let name = arguments.positional("NAME")
    try await AdminKeyCommand.with(arguments, console) { store in
      guard try await store.revokeAdminKey(name: name) else {
        throw CommandFailure(message: "there is no key “\(name)”")
      }
    }
    return .success
  }
}
