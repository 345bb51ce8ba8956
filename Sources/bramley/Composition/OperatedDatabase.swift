import SQL
import Server
import System

/// The database that an operator's command works on.
struct OperatedDatabase {
  /// How the commands are told which.
  static let options: [CommandSyntax.Option] = [
    .init(
      name: "config", value: "FILE", summary: "the server's configuration, whose data directory is used",
      fallback: "as for serve"),
    .init(name: "data", value: "DIR", summary: "the data directory, instead of a configuration"),
  ]

  let configuration: Configuration

  /// By `--data`, else by the configuration.
  init(_ arguments: ParsedArguments, _ console: Console) throws {
    if let data = arguments.value("data") {
      var configuration = Configuration()
      configuration.data = data
      self.configuration = configuration
    } else {
      configuration = try ConfigurationFile.read(arguments.value("config"), console)
    }
  }

  var data: DataDirectory { DataDirectory(path: configuration.data) }

  /// Opens it for the body as a server would, and closes it.
  func open<Result: Sendable>(_ body: (Database) async throws -> Result) async throws -> Result {
    let (database, claim) = try await StoredState.open(data, use: StoredState.use(configuration))
    defer {
      database.close()
      withExtendedLifetime(claim) {}
    }
    return try await body(database)
  }

  /// Opens it for the body without changing anything, and closes it.
  func look<Result: Sendable>(_ body: (Database) async throws -> Result) async throws -> Result {
    try requireDatabase()
    let claim = try StoredState.claim(data)
    let database = try Database(.readOnlyFile(data.database))
    defer {
      database.close()
      withExtendedLifetime(claim) {}
    }
    return try await body(database)
  }

  /// Throws where there is none yet.
  func requireDatabase() throws(CommandFailure) {
    guard Files.exists(data.database) else {
      throw CommandFailure(message: "there is no database \(data.database); serve makes it")
    }
  }
}
