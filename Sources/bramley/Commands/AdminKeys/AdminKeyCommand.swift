import Accounts
import Server
import Stores

/// What the commands of `keys admin` share.
enum AdminKeyCommand {
  /// Opens the database for the body, and closes it.
  static func with<Result: Sendable>(
    _ arguments: ParsedArguments, _ console: Console,
    _ body: (any AdminKeyStore) async throws -> Result
  ) async throws -> Result {
    try await OperatedDatabase(arguments, console).open { try await body(SQLAdminKeyStore($0)) }
  }
}
