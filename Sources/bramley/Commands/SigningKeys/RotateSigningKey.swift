import Server
import System

/// `bramley keys signing rotate`
struct RotateSigningKey: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "signing", "rotate"], summary: "Make a new key for access tokens.",
    options: OperatedDatabase.options,
    discussion: """
      The server does so by itself every 30 days. The new key is published at once and signs from a
      quarter of an hour later on; the old one stays published for as long as its tokens live. Nobody is
      signed out. A running server takes notice within a minute.
      """)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let kid = try await OperatedSigningKeys.with(arguments, console) {
      try await $0.rotate(now: WallClock.milliseconds, atOnce: true)
    }
    guard let kid else {
      throw CommandFailure(message: "somebody else made a new key at this very moment: see keys signing list")
    }
    console.print(kid)
    return .success
  }
}
