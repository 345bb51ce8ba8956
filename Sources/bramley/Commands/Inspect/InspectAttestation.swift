import AppAttest

/// `bramley inspect attestation`
struct InspectAttestation: Command {
  static let syntax = CommandSyntax(
    words: ["inspect", "attestation"], summary: "Judge an attestation by every check.",
    positionals: [InspectionOptions.file],
    options: [
      InspectionOptions.app, InspectionOptions.clientDataHash,
      .init(name: "key-id", value: "BASE64", summary: "the key id that the client sent"),
      InspectionOptions.environment, InspectionOptions.time, InspectionOptions.json,
    ],
    discussion: """
      Attestations end after days: give the time of one that is older. A check that has nothing to
      compare with is skipped. The exit code is 0 only if all others hold. A server also asks that its
      receipt holds: `bramley inspect receipt` judges it, and takes the same FILE.
      """)

  private let options: InspectionOptions

  init(_ arguments: ParsedArguments) throws(UsageError) { options = try InspectionOptions(arguments) }

  func run(_ console: Console) async throws -> ExitCode {
    let inspection = Inspection.attestation(
      try options.object(), appID: options.app, environment: options.environment,
      clientDataHash: options.clientDataHash, keyID: options.keyID, now: options.time)
    return options.report(inspection, console)
  }
}
