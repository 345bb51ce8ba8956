import Accounts
import Server
import Stores
import System

/// What the commands of `keys admin` share.
enum AdminKeyCommand {
  /// Opens the database for the body, and closes it.
  static func with<Result: Sendable>(
    _ arguments: ParsedArguments, _ console: Console,
    _ body: (any AdminKeyStore) async throws -> Result
  ) async throws -> Result {
    let act = OperatorAct(.command, now: WallClock.milliseconds)
    return try await OperatedDatabase(arguments, console).open { try await body(SQLAdminKeyStore($0, act)) }
  }
}
