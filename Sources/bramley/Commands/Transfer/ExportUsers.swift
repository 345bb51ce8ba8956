import Accounts

/// `bramley admin transfer export`
struct ExportUsers: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "transfer", "export"],
    summary: "Ask Apple for the transfer identifier of every user, for the app's move to another team.",
    options: [
      .init(name: "to", value: "TEAM", summary: "the team that gets the app", required: true)
    ] + TransferCommand.options,
    discussion: """
      The configuration is the sender's. Run it before the transfer is accepted, so that whoever signs in
      first is found by their identifier; it can be run again until sixty days after. It goes on where it
      stopped, and a user whom Apple refuses holds up no other. docs/team-transfer.md
      """)

  private let command: TransferCommand

  init(_ arguments: ParsedArguments) throws(UsageError) {
    command = try TransferCommand(arguments, .export, team: "to")
  }

  func run(_ console: Console) async throws -> ExitCode { try await command.run(console) }
}
