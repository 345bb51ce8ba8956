import SQL
import Stores
import System

/// `bramley restore`
struct Restore: Command {
  static let syntax = CommandSyntax(
    words: ["restore"], summary: "Put a backup in the place of the database, while no server runs.",
    positionals: [.init(name: "FILE", summary: "what `bramley backup` made")],
    options: OperatedDatabase.options + [
      .init(name: "force", summary: "replace the database that is there")
    ],
    discussion: """
      The file is checked before anything is changed, and takes its place at once: a crash leaves the
      old database or the restored one. Challenges and session tokens of before are ended, so that
      nothing that was signed since the backup counts a second time. Keys that were revoked or banned
      since the backup are live again: revoke them once more.
      """)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    let (data, source) = (try operated.directory(), arguments.positional("FILE"))
    guard Files.exists(source) else { throw CommandFailure(message: "there is no file \(source)") }
    try data.create()
    guard let claim = try FileLock(data.lock) else {
      throw CommandFailure(message: "a server or another command uses \(data.path); stop it first")
    }
    defer { withExtendedLifetime(claim) {} }
    let replaces = Files.exists(data.database)
    if replaces, !arguments.flag("force") {
      throw CommandFailure(message: "there is a database \(data.database); --force replaces it")
    }
    let temporary = data.database + ".restoring"
    do {
      try Files.remove(temporary)
      let version = try await StoredState.version(ofFile: source)
      let counts = try OnlineCopy.copy(source, to: temporary, emptying: Schema.endingCredentials)
      try Self.removeLog(of: data.database, replaces: replaces)
      _ = try Files.move(temporary, to: data.database, replacing: true)
      console.print(
        "\(data.database): schema \(version), \(counts.count) tables, \(counts.values.reduce(0, +)) rows, checked"
      )
      return .success
    } catch {
      _ = try? Files.remove(temporary)
      throw error
    }
  }

  /// A log that stays would be played into the restored file. It is folded into the old one, which is whole
  /// until it is replaced; only where that one is damaged is its log thrown away with it.
  private static func removeLog(of database: String, replaces: Bool) throws {
    do {
      if replaces { try OnlineCopy.foldLog(database) }
    } catch DatabaseError.busy {
      throw CommandFailure(message: "another program has \(database) open; close it first")
    } catch {}
    for suffix in ["-wal", "-shm", "-journal"] { try Files.remove(database + suffix) }
  }
}
