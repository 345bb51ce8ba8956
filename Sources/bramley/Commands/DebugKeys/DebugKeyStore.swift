import Admission
import SQL
import Server
import Stores

/// The database that the commands of `keys debug` work on.
enum DebugKeyStore {
  /// How the commands are told which.
  static let options: [CommandSyntax.Option] = [
    .init(
      name: "config", value: "FILE", summary: "the server's configuration, whose data directory is used",
      fallback: "as for serve"),
    .init(name: "data", value: "DIR", summary: "the data directory, instead of a configuration"),
  ]

  /// Opens it for the body, and closes it.
  static func with<Result: Sendable>(
    _ arguments: ParsedArguments, _ console: Console,
    _ body: (any DebugTokenStore, Configuration) async throws -> Result
  ) async throws -> Result {
    var configuration = Configuration()
    if let data = arguments.value("data") {
      configuration.data = data
    } else {
      configuration = try ConfigurationFile.read(arguments.value("config"), console)
    }
    let database = try await StoredState.open(
      DataDirectory(path: configuration.data), use: StoredState.use(configuration))
    defer { database.close() }
    return try await body(SQLDebugTokenStore(database), configuration)
  }
}
