import SQL
import Stores
import System

/// `bramley migrate`
struct Migrate: Command {
  static let syntax = CommandSyntax(
    words: ["migrate"], summary: "Bring the database's schema to what this version knows.",
    options: OperatedDatabase.options + [
      .init(name: "dry-run", summary: "say what would be done, and change nothing")
    ],
    discussion: """
      serve does the same at its start. All steps are one transaction, and they go forward only: make
      a backup before. A database that a newer version wrote is refused.
      """)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    if arguments.flag("dry-run") {
      let pending: [Int]
      if operated.place.exists {
        pending = try await operated.look(anySchema: true) {
          try await Migrator(Schema.migrations).pending($0)
        }
      } else {
        console.note("\(operated.place.name) is not there yet and would be made")
        pending = Schema.migrations.map(\.version)
      }
      Self.tell(pending, "would be applied", console)
      return .success
    }
    let claim = try operated.place.claim()
    let database = try operated.place.open()
    defer {
      database.close()
      withExtendedLifetime(claim) {}
    }
    do {
      Self.tell(try await Schema.migrate(database, now: WallClock.seconds), "applied", console)
    } catch let error as DatabaseError {
      throw CommandFailure(message: "\(operated.place.name): \(error)")
    }
    return .success
  }

  private static func tell(_ versions: [Int], _ what: String, _ console: Console) {
    for migration in Schema.migrations where versions.contains(migration.version) {
      console.print("\(migration.version)\t\(migration.name)\t\(what)")
    }
    if versions.isEmpty {
      console.print("nothing to do: the schema is \(Schema.migrations.last?.version ?? 0)")
    }
  }
}
