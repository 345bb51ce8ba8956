import Accounts
import Admission
import Server
import Stores
import System

/// The database that the commands of `keys debug` work on.
enum DebugKeyStore {
  /// Opens it for the body, and closes it.
  static func with<Result: Sendable>(
    _ arguments: ParsedArguments, _ console: Console,
    _ body: (any DebugTokenStore, Configuration) async throws -> Result
  ) async throws -> Result {
    let operated = try OperatedDatabase(arguments, console)
    let act = OperatorAct(.command, now: WallClock.milliseconds)
    return try await operated.open { try await body(SQLDebugTokenStore($0, act), operated.configuration) }
  }
}
