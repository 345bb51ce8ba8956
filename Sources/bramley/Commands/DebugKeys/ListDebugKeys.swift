import Admission
import Encodings
import System

/// `bramley keys debug list`
struct ListDebugKeys: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "debug", "list"], summary: "List the tokens for simulators.",
    options: OperatedDatabase.options)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    try await DebugKeyStore.with(arguments, console) { store, _ in
      let tokens = try await store.debugTokens()
      if tokens.isEmpty { console.note("there are none") }
      for token in tokens {
        let time = CivilTime(secondsSince1970: token.expiry).rfc3339
        let state = token.expiry > WallClock.seconds ? "until \(time)" : "expired \(time)"
        let use = token.lastUse.map { "last used \(CivilTime(secondsSince1970: $0).rfc3339)" } ?? "never used"
        console.print("\(token.name)\t\(state)\t\(use)")
      }
    }
    return .success
  }
}
