import SQL
import Stores
import System

/// `bramley backup`
struct Backup: Command {
  static let syntax = CommandSyntax(
    words: ["backup"], summary: "Copy the database into one file, while the server runs.",
    positionals: [.init(name: "FILE", summary: "the copy, readable by its owner alone")],
    options: OperatedDatabase.options + [
      .init(name: "force", summary: "replace a file that is there")
    ],
    discussion: """
      The copy is the database of one moment. It gets its name only after it was checked: its pages,
      its references, its schema and the rows of each table. It holds secrets: keep it as the
      database itself.
      """)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    let data = try operated.directory()
    let target = arguments.positional("FILE")
    let force = arguments.flag("force")
    if !force, Files.exists(target) { throw Self.exists(target) }
    try operated.requireDatabase()
    let claim = try StoredState.claim(data)
    defer { withExtendedLifetime(claim) {} }
    let temporary = "\(target).\(CurrentProcess.identifier).partial"
    do {
      try Files.remove(temporary)
      let counts = try OnlineCopy.copy(data.database, to: temporary)
      let version = try await StoredState.version(ofFile: temporary)
      guard try Files.move(temporary, to: target, replacing: force) else { throw Self.exists(target) }
      console.print(
        "\(target): schema \(version), \(counts.count) tables, \(counts.values.reduce(0, +)) rows, checked")
      return .success
    } catch {
      _ = try? Files.remove(temporary)
      throw error
    }
  }

  private static func exists(_ target: String) -> CommandFailure {
    CommandFailure(message: "\(target) is there already; --force replaces it")
  }
}
