import BramleyClient
import HTTPMessages

/// `bramley simulate ask`
struct Ask: Command {
  static let syntax = CommandSyntax(
    words: ["simulate", "ask"], summary: "Ask as a simulated phone, and stream the answer.",
    positionals: [.init(name: "QUESTION", summary: "what to ask")],
    options: SimulatedPhone.options(device: defaultDevice) + [
      .init(name: "model", value: "MODEL", summary: "one that the server allows", fallback: defaultModel),
      .init(name: "max-tokens", value: "N", summary: "the longest answer", fallback: "\(defaultLength)"),
    ],
    discussion: """
      The phone registers itself if it is not registered. The answer goes to stdout; on failure the
      error's code goes to stderr.
      """)

  private static let defaultDevice = "phone"
  private static let defaultModel = "claude-haiku-4-5"
  private static let defaultLength = 1_024

  private let arguments: ParsedArguments
  private let maxTokens: Int

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    maxTokens =
      try arguments.value("max-tokens", expected: "a number from 1 to 1000000") { text in
        Int(text).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
      } ?? Self.defaultLength
  }

  func run(_ console: Console) async throws -> ExitCode {
    let phone = try SimulatedPhone(arguments, device: Self.defaultDevice)
    try await phone.reaching {
      let stream = try await phone.client.ask(
        arguments.positional("QUESTION"), model: arguments.value("model") ?? Self.defaultModel,
        maxTokens: maxTokens)
      var ended = true
      defer { if !ended { console.print() } }
      for try await event in stream {
        if case .text(let piece) = event {
          console.write(piece)
          ended = piece.hasSuffix("\n")
        }
      }
      if !ended { console.print() }
      ended = true
      if let left = Self.left(stream.fields) { console.note(left) }
    }
    return .success
  }

  /// What `RateLimit` says of what is left, for a person: `daily: 19 left`.
  static func left(_ fields: HTTPFields) -> String? {
    let policies = fields.values("ratelimit").flatMap { $0.split(separator: ",") }
    let words = policies.compactMap { policy -> String? in
      let parts = policy.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\"" } }
      guard let name = parts.first, let left = parts.first(where: { $0.hasPrefix("r=") }) else { return nil }
      return "\(name): \(left.dropFirst(2)) left"
    }
    return words.isEmpty ? nil : "(\(words.joined(separator: ", ")))"
  }
}
