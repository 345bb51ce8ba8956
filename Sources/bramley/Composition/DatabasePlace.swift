import SQL
import Server
import System

/// Where a configuration's database is: a file in the data directory, or a PostgreSQL server.
enum DatabasePlace: Sendable, Equatable {
  case directory(DataDirectory)
  case server(PostgresSettings)

  init(_ configuration: Configuration) {
    if let url = configuration.databaseURL {
      var settings = PostgresSettings(url: url.value)
      settings.connections = configuration.databaseConnections
      settings.statementTimeout = Int32(clamping: configuration.databaseStatementTimeout * 1_000)
      self = .server(settings)
    } else {
      self = .directory(DataDirectory(path: configuration.data))
    }
  }

  /// How it is called to the operator; without a password.
  var name: String {
    switch self {
    case .directory(let data): data.database
    case .server(let settings): settings.place
    }
  }

  /// Makes the directory and claims it beside others, where there is one.
  func claim() throws -> FileLock? {
    guard case .directory(let data) = self else { return nil }
    try data.create()
    return try StoredState.claim(data)
  }

  /// Opens it for reading and writing, a file made where there is none.
  ///
  /// - Parameter loops: on which a server's connections are; nil for one of their own.
  func open(on loops: EventLoopGroup? = nil) throws -> Database {
    do {
      switch self {
      case .directory(let data): return try Database(.file(data.database))
      case .server(let settings): return try Database(.postgreSQL(settings), loops: loops)
      }
    } catch {
      if case .cannotOpen = error { throw CommandFailure(message: "\(error)") }
      throw CommandFailure(message: "\(name): \(error)")
    }
  }

  /// Opens it to be looked at only.
  func openReadOnly() throws -> Database {
    switch self {
    case .directory(let data): try Database(.readOnlyFile(data.database))
    case .server: try open()
    }
  }

  /// Whether it is there, as far as can be said without opening it.
  var exists: Bool {
    switch self {
    case .directory(let data): Files.exists(data.database)
    case .server: true
    }
  }
}
