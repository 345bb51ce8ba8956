import Admission
import Cryptography
import Encodings
import Server
import System

/// `bramley keys debug create`
struct CreateDebugKey: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "debug", "create"], summary: "Make a token for a simulator that cannot attest.",
    options: [
      .init(
        name: "name", value: "NAME", summary: "whose it is: small letters, digits, hyphens", required: true),
      .init(name: "days", value: "DAYS", summary: "how long it holds, 90 at most", required: true),
    ] + OperatedDatabase.options,
    discussion: """
      The token is printed once; the database has its hash alone. Clients send it as the bearer or as
      x-api-key. It has a small quota of its own, every use is logged, and production takes it only if
      debug_tokens.allowed names it. Never build it into a release.
      """)

  private let arguments: ParsedArguments
  private let name: String
  private let days: Int64

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    name =
      try arguments.value("name", expected: "1 to 32 small letters, digits and hyphens") { text in
        Token.debug(name: text, random: []) == nil ? nil : text
      } ?? ""
    days =
      try arguments.value("days", expected: "a number from 1 to 90") { text in
        Int64(text).flatMap { (1...90).contains($0) ? $0 : nil }
      } ?? 0
  }

  func run(_ console: Console) async throws -> ExitCode {
    let now = WallClock.seconds
    let expiry = now + days * 86_400
    guard let token = Token.debug(name: name, random: SecureRandom.bytes(32)) else {
      throw CommandFailure(message: "“\(name)” is no name for a token")
    }
    try await DebugKeyStore.with(arguments, console) { store, configuration in
      guard
        try await store.createDebugToken(name: name, hash: Token.hash(token), expiry: expiry, now: now)
      else {
        throw CommandFailure(message: "there is a token “\(name)” already; revoke it, or choose another name")
      }
      if configuration.deployment == .production, !configuration.debugTokens.allowed.contains(name) {
        console.note("production refuses it until debug_tokens.allowed names “\(name)”")
      }
    }
    console.note("holds until \(CivilTime(secondsSince1970: expiry).rfc3339)")
    console.print(token)
    return .success
  }
}
