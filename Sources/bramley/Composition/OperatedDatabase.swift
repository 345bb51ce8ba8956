import SQL
import Server
import Stores
import System

/// The database that an operator's command works on.
struct OperatedDatabase {
  /// How the commands are told which.
  static let options: [CommandSyntax.Option] = [
    .init(
      name: "config", value: "FILE", summary: "the server's configuration, whose database is used",
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
      configuration = try ConfigurationFile.read(arguments.value("config"), console, for: .databaseCommand)
    }
  }

  /// That of a configuration that was read for more.
  init(configuration: Configuration) { self.configuration = configuration }

  var place: DatabasePlace { DatabasePlace(configuration) }

  /// The directory of a SQLite database; throws where the database is a server, which has tools of its own.
  func directory() throws(CommandFailure) -> DataDirectory {
    guard case .directory(let data) = place else {
      throw CommandFailure(
        message: "the database is a PostgreSQL server: save and restore it with pg_dump and pg_restore")
    }
    return data
  }

  /// Opens it for the body as a server would, and closes it.
  func open<Result: Sendable>(_ body: (Database) async throws -> Result) async throws -> Result {
    let (database, claim) = try await StoredState.open(place, use: StoredState.use(configuration))
    defer {
      database.close()
      withExtendedLifetime(claim) {}
    }
    do {
      return try await body(database)
    } catch let error as DatabaseError {
      throw CommandFailure(message: "\(place.name): \(error)")
    }
  }

  /// Opens it for the body without changing anything, and closes it. Throws where its schema is older than
  /// what the body reads, unless that is what it asks (`anySchema`).
  func look<Result: Sendable>(
    anySchema: Bool = false, _ body: (Database) async throws -> Result
  ) async throws -> Result {
    try requireDatabase()
    let claim = try place.claim()
    let database = try place.openReadOnly()
    defer {
      database.close()
      withExtendedLifetime(claim) {}
    }
    do {
      if !anySchema, !(try await Migrator(Schema.migrations).pending(database)).isEmpty {
        throw CommandFailure(
          message: "the schema of \(place.name) is older than this program: run bramley migrate first")
      }
      return try await body(database)
    } catch let error as DatabaseError {
      throw CommandFailure(message: "\(place.name): \(error)")
    }
  }

  /// Throws where there is none yet.
  func requireDatabase() throws(CommandFailure) {
    guard place.exists else {
      throw CommandFailure(message: "there is no database \(place.name); serve makes it")
    }
  }
}
