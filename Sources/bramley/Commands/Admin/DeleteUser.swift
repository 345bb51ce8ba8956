import Accounts
import Cryptography
import Encodings
import SQL
import Server
import Stores
import System

/// `bramley admin users delete`
struct DeleteUser: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "users", "delete"], summary: "Begin to delete an account.",
    positionals: [.init(name: "USER", summary: "the user's id")], options: OperatedDatabase.options,
    discussion: """
      The account is marked at once: nobody signs in to it or changes it any more. A server that runs does
      the rest within a quarter of a minute, as when the user asks: it ends the consents at Apple, erases
      what the user owns, and deletes the user with everything that hangs on it. Prints the operation id,
      for `bramley admin deletions show`.
      """)

  private let arguments: ParsedArguments
  private let user: UUID

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    let text = arguments.positional("USER")
    guard let user = UUID(text) else { throw .invalid(name: "USER", value: text, expected: "a UUID") }
    self.user = user
  }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    try operated.requireDatabase()
    guard let operation = OperationID(SecureRandom.bytes(16)) else {
      throw CommandFailure(message: "the system's randomness is none")
    }
    let policy = operated.configuration.auth?.deletionPolicy ?? .required
    let began = try await operated.open { database in
      let now = WallClock.milliseconds
      return try await SQLDeletionStore(database).begin(
        DeletionRequest(
          user: user, operation: operation, origin: .command, policy: policy, proof: .none,
          owned: Compose.owned(database).map(\.name), lease: now, now: now))
    }
    switch began {
    case .success(let beginning): console.print(beginning.deletion.operation.description)
    case .failure(.blocked(let what)):
      throw CommandFailure(message: "a table of the app's refuses, and nothing was deleted: \(what)")
    case .failure(.userNotFound): throw CommandFailure(message: "there is no such user")
    case .failure(let refusal): throw CommandFailure(message: "nothing was deleted: \(refusal)")
    }
    return .success
  }
}
