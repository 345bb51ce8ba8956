import Accounts
import Cryptography
import Server
import System

/// `bramley keys admin create`
struct CreateAdminKey: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "admin", "create"], summary: "Make a key for an operator or an app's backend.",
    options: [
      .init(
        name: "name", value: "NAME", summary: "whose it is: small letters, digits, hyphens", required: true)
    ] + OperatedDatabase.options,
    discussion: """
      The key is printed once; the database has its hash alone. It opens /auth/v1/admin, as the service
      key of Supabase's clients, and /admin/v1 on the operator's listener. It holds until it is revoked.
      Never build it into an app.
      """)

  private let arguments: ParsedArguments
  private let name: String

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    name =
      try arguments.value("name", expected: "1 to 32 small letters, digits and hyphens") { text in
        Token.isName(text) ? text : nil
      } ?? ""
  }

  func run(_ console: Console) async throws -> ExitCode {
    let key = Token.admin(random: Cryptography.SecureRandom.bytes(32))
    try await AdminKeyCommand.with(arguments, console) { store in
      guard
        try await store.createAdminKey(name: name, hash: Token.hash(key), now: WallClock.milliseconds)
      else {
        throw CommandFailure(message: "there is a key “\(name)” already; revoke it, or choose another name")
      }
    }
    console.print(key)
    return .success
  }
}
