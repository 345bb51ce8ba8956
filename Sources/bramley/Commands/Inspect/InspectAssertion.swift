import AppAttest

/// `bramley inspect assertion`
struct InspectAssertion: Command {
  static let syntax = CommandSyntax(
    words: ["inspect", "assertion"], summary: "Judge an assertion by every check.",
    positionals: [InspectionOptions.file],
    options: [
      InspectionOptions.app, InspectionOptions.clientDataHash, InspectionOptions.publicKey,
      InspectionOptions.json,
    ],
    discussion: """
      Whether its counter is new can only be said by the server that knows the last ones. A check that
      has nothing to compare with is skipped. The exit code is 0 only if all others hold.
      """)

  private let options: InspectionOptions

  init(_ arguments: ParsedArguments) throws(UsageError) { options = try InspectionOptions(arguments) }

  func run(_ console: Console) async throws -> ExitCode {
    let inspection = Inspection.assertion(
      try options.object(), appID: options.app, clientDataHash: options.clientDataHash,
      publicKey: options.publicKey)
    return options.report(inspection, console)
  }
}
