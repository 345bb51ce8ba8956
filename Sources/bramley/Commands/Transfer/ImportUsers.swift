import Accounts
import Stores
import System

/// `bramley admin transfer import`
struct ImportUsers: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "transfer", "import"],
    summary: "Give users their names under the new team, after the app's move.",
    options: [
      .init(name: "from", value: "TEAM", summary: "the team that gave the app away", required: true),
      .init(
        name: "file", value: "FILE",
        summary: "lines of `export --json`, where they are not in this database"),
    ] + TransferCommand.options,
    discussion: """
      The configuration is the recipient's, with its team, key and the same client. Users keep their
      accounts and sessions. Whoever signed in first is told apart; who made another account before the
      export is a conflict, and both accounts stay. It goes on where it stopped. docs/team-transfer.md
      """)

  /// Of a file, octets.
  private static let limit = 512 << 20

  private let command: TransferCommand
  private let file: String?

  init(_ arguments: ParsedArguments) throws(UsageError) {
    command = try TransferCommand(arguments, .import, team: "from")
    file = arguments.value("file")
  }

  func run(_ console: Console) async throws -> ExitCode {
    let lines = try file.map { try Self.lines(of: $0) } ?? []
    return try await command.run(console) { store, transfer in
      var unknown = 0
      for line in lines {
        let isKnown = try await store.exported(
          line.identity, as: line.identifier ?? "", transfer, now: WallClock.milliseconds)
        if !isKnown { unknown += 1 }
      }
      if unknown > 0 { console.note("\(unknown) lines are of no identity of the sender's here") }
    }
  }

  /// The file's lines that have an identifier.
  private static func lines(of path: String) throws -> [TransferLine] {
    let bytes: [UInt8]
    do {
      bytes = try Files.read(path, upTo: limit)
    } catch {
      throw CommandFailure(message: "cannot read \(path): \(error)")
    }
    return bytes.split(separator: 0x0A).compactMap { TransferLine($0) }
  }
}
