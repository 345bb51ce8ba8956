import Cryptography
import Encodings
import SQL
import Server
import Stores
import System

/// `bramley copy`
struct Copy: Command {
  static let syntax = CommandSyntax(
    words: ["copy"], summary: "Move the data of a SQLite database into PostgreSQL.",
    options: [
      .init(name: "from", value: "DIR", summary: "the data directory; no server runs on it", required: true),
      .init(
        name: "to", value: "URL", summary: "an empty database: postgresql://USER@HOST/NAME",
        fallback: "database.url of the configuration"),
      .init(name: "config", value: "FILE", summary: "the configuration", fallback: "as for serve"),
      .init(name: "schema", value: "NAME", summary: "the schema that holds every table", fallback: "auth"),
      .init(name: "abandon", summary: "let servers use the old database again instead"),
    ],
    discussion: """
      It may be ended at any time: the same command goes on where it was. At the end every row is
      compared. From its beginning on no server takes the old database, since two servers would accept
      the same requests; --abandon undoes that. Keep the password out of the command line: it may stand
      where the configuration says, in PGPASSWORD, or in ~/.pgpass.
      """)

  private let arguments: ParsedArguments
  private let data: DataDirectory
  /// nil: the configuration's.
  private let target: PostgresSettings?
  private let schema: String?

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    data = DataDirectory(path: arguments.value("from") ?? "")
    if let url = arguments.value("to") {
      let settings = PostgresSettings(url: url)
      // Never the text itself: it may hold a password.
      guard settings.isWellFormed else {
        throw .invalid(name: "--to", value: "…", expected: "an URL such as postgresql://user@host/name")
      }
      target = settings
    } else {
      target = nil
    }
    schema = try arguments.value("schema", expected: "small letters, digits and underscores") { text in
      let isName = text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x61...0x7A, 0x5F: true
        default: false
        }
      }
      return isName && !text.isEmpty && text.utf8.count < 64 ? text : nil
    }
  }

  private func settings(_ console: Console) throws -> PostgresSettings {
    var settings: PostgresSettings
    if let target {
      settings = target
    } else if case .server(let configured) = DatabasePlace(
      try ConfigurationFile.read(arguments.value("config"), console, for: .databaseCommand))
    {
      settings = configured
    } else {
      throw CommandFailure(message: "where to? give --to URL, or database.url in the configuration")
    }
    if let schema { settings.schema = schema }
    settings.connections = 2
    return settings
  }

  func run(_ console: Console) async throws -> ExitCode {
    guard Files.exists(data.database) else {
      throw CommandFailure(message: "there is no database \(data.database)")
    }
    guard let claim = try FileLock(data.lock) else {
      throw CommandFailure(message: "a server or another command uses \(data.path); stop it first")
    }
    let source = try Database(.file(data.database))
    defer {
      source.close()
      withExtendedLifetime(claim) {}
    }
    if arguments.flag("abandon") {
      guard try await DatabaseCopy.abandon(source) else {
        throw CommandFailure(message: "\(data.database) was not copied")
      }
      return .success
    }
    let target = try settings(console)
    let database = try Database(.postgreSQL(target))
    defer { database.close() }
    do {
      let counts = try await DatabaseCopy(from: source, to: database).run(
        id: Hex.encode(SecureRandom.bytes(16)), place: target.place, now: WallClock.seconds
      ) { table, rows in
        if rows.isMultiple(of: 50_000) { console.note("\(table): \(rows) rows") }
      }
      for count in counts { console.print("\(count.table)\t\(count.rows)\tthe same in both") }
      console.note("point the configuration to \(target.place) and start the server")
      return .success
    } catch let refusal as DatabaseCopy.Refusal {
      throw CommandFailure(message: "\(refusal)")
    }
  }
}
