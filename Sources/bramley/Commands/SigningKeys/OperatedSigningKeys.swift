import Accounts
import Server
import Stores

/// The keys of access tokens that the commands of `keys signing` work on.
enum OperatedSigningKeys {
  /// Opens them for the body, and closes the database.
  static func with<Result: Sendable>(
    _ arguments: ParsedArguments, _ console: Console, _ body: (SigningKeys) async throws -> Result
  ) async throws -> Result {
    let operated = try OperatedDatabase(arguments, console)
    let auth = operated.configuration.auth ?? Configuration.Auth()
    return try await operated.open { database in
      do {
        return try await body(SigningKeys(SQLSigningKeyStore(database, by: .command), auth))
      } catch let failure as Failure {
        throw CommandFailure(
          message: "the signing keys cannot be read (\(failure.diagnosis ?? failure.message)); "
            + "is auth.sealing as the server has it?")
      }
    }
  }
}
