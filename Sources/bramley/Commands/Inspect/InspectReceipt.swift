import AppAttest

/// `bramley inspect receipt`
struct InspectReceipt: Command {
  static let syntax = CommandSyntax(
    words: ["inspect", "receipt"], summary: "Judge a receipt by every check.",
    positionals: [InspectionOptions.file],
    options: [
      InspectionOptions.app, InspectionOptions.publicKey, InspectionOptions.clientDataHash,
      InspectionOptions.environment, InspectionOptions.time, InspectionOptions.json,
    ],
    discussion: """
      FILE may also be an attestation: its receipt is judged then, as at a registration.

      The signer's certificates are judged at the time at which the receipt was made. A check that has
      nothing to compare with is skipped. The exit code is 0 only if all others hold.
      """)

  private let options: InspectionOptions

  init(_ arguments: ParsedArguments) throws(UsageError) { options = try InspectionOptions(arguments) }

  func run(_ console: Console) async throws -> ExitCode {
    let object = try options.object()
    let inspection = Inspection.receipt(
      (try? AttestationObject(object).receipt) ?? object, appID: options.app, publicKey: options.publicKey,
      environment: options.environment, clientDataHash: options.clientDataHash, now: options.time)
    return options.report(inspection, console)
  }
}
