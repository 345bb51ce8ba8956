import Accounts
import Encodings

/// `bramley keys admin list`
struct ListAdminKeys: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "admin", "list"], summary: "List the keys of operators.",
    options: OperatedDatabase.options)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    try await AdminKeyCommand.with(arguments, console) { store in
      let keys = try await store.adminKeys()
      if keys.isEmpty { console.note("there are none") }
      for key in keys {
        console.print("\(key.name)\tsince \(CivilTime(secondsSince1970: key.createdAt / 1_000).rfc3339)")
      }
    }
    return .success
  }
}
