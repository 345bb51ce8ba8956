import AppAttest
import Encodings
import System

/// What the commands of `inspect` share: their file, their options, and how they tell what was found.
struct InspectionOptions: Sendable {
  static let file = CommandSyntax.Positional(
    name: "FILE", summary: "the object, as it is or as base64 text of any spelling")
  static let app = CommandSyntax.Option(
    name: "app", value: "ID", summary: "the app id: App ID prefix, a dot and the bundle id")
  static let clientDataHash = CommandSyntax.Option(
    name: "client-data-hash", value: "BASE64", summary: "what the app passed to DeviceCheck")
  static let publicKey = CommandSyntax.Option(
    name: "public-key", value: "BASE64", summary: "the key's X9.63 point, 65 octets")
  static let environment = CommandSyntax.Option(
    name: "environment", value: "NAME", summary: "development or production", fallback: "either")
  static let time = CommandSyntax.Option(
    name: "at", value: "TIME", summary: "when it is judged, such as 2026-10-09T18:00:00Z", fallback: "now")
  static let json = CommandSyntax.Option(name: "json", summary: "the verdicts as JSON")

  /// Larger files are none of these objects.
  private static let limit = 1 << 20

  private let path: String
  private let asJSON: Bool
  let app: String?
  let clientDataHash: [UInt8]?
  let keyID: [UInt8]?
  let publicKey: [UInt8]?
  let environment: AttestEnvironment?
  /// Seconds since 1970.
  let time: Int64

  init(_ arguments: ParsedArguments) throws(UsageError) {
    path = arguments.positional("FILE")
    asJSON = arguments.flag("json")
    app = arguments.value("app")
    clientDataHash = try arguments.value("client-data-hash", expected: "base64") { Base64.decode($0) }
    keyID = try arguments.value("key-id", expected: "32 octets in base64") { text in
      Base64.decode(text).flatMap { $0.count == 32 ? $0 : nil }
    }
    publicKey = try arguments.value("public-key", expected: "65 octets in base64") { text in
      Base64.decode(text).flatMap { $0.count == 65 ? $0 : nil }
    }
    environment = try arguments.value("environment", expected: "development or production") {
      AttestEnvironment(rawValue: $0)
    }
    time =
      try arguments.value("at", expected: "a time such as 2026-10-09T18:00:00Z") { RFC3339.seconds($0) }
      ?? WallClock.seconds
  }

  /// The object: the file's octets, or what they spell in base64, blanks and line ends left out.
  func object() throws(CommandFailure) -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try Files.read(path, upTo: Self.limit)
    } catch {
      throw CommandFailure(message: "cannot read \(path): \(error)")
    }
    guard !bytes.isEmpty else { throw CommandFailure(message: "\(path) is empty") }
    return Base64.decode(bytes.filter { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }) ?? bytes
  }

  /// Prints the inspection; success only if every check holds that had something to compare with.
  func report(_ inspection: Inspection, _ console: Console) -> ExitCode {
    if asJSON {
      console.print(Self.json(inspection).prettyText)
    } else {
      for line in Self.lines(inspection) { console.print(line) }
    }
    return inspection.holds ? .success : .failure
  }

  private static func json(_ inspection: Inspection) -> JSONValue {
    let checks = inspection.verdicts.map { verdict -> JSONValue in
      [
        "check": .string(verdict.check), "outcome": .string(verdict.outcome.rawValue),
        "question": .string(verdict.question), "detail": .string(verdict.detail),
      ]
    }
    return [
      "holds": .bool(inspection.holds), "checks": .array(checks),
      "facts": .object(inspection.facts.map { ($0.name, .string($0.value)) }),
    ]
  }

  private static func lines(_ inspection: Inspection) -> [String] {
    let verdicts = inspection.verdicts.map { verdict in
      let outcome = verdict.outcome == .failed ? "FAILED" : verdict.outcome.rawValue
      let detail = verdict.detail.isEmpty ? "" : " (\(verdict.detail))"
      return "\(outcome.padded(to: 8))\(verdict.check.padded(to: 18))\(verdict.question)\(detail)"
    }
    let facts = inspection.facts.map { "\($0.name.padded(to: 24))\($0.value)" }
    let count = { (outcome: Verdict.Outcome) in inspection.verdicts.count { $0.outcome == outcome } }
    let summary =
      inspection.holds
      ? "Holds: \(count(.passed)) checks passed" : "Does not hold: \(count(.failed)) of the checks failed"
    let skipped = count(.skipped) == 0 ? "." : ", \(count(.skipped)) had nothing to compare with."
    return facts + (facts.isEmpty ? [] : [""]) + verdicts + ["", summary + skipped]
  }
}
