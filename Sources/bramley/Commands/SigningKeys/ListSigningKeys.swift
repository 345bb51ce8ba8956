import Accounts
import Encodings
import Server
import System

/// `bramley keys signing list`
struct ListSigningKeys: Command {
  static let syntax = CommandSyntax(
    words: ["keys", "signing", "list"], summary: "List the keys that access tokens are signed with.",
    options: OperatedDatabase.options)

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let now = WallClock.milliseconds
    let keys = try await OperatedSigningKeys.with(arguments, console) { try await $0.list(now: now) }
    for key in keys {
      let from = CivilTime(secondsSince1970: key.activeFrom / 1000).rfc3339
      let until = key.publishedUntil.map { CivilTime(secondsSince1970: $0 / 1000).rfc3339 }
      let state = key.activeFrom > now ? "signs from \(from)" : "signs since \(from)"
      let sealed = key.sealingKey.map { "sealed by \($0)" } ?? "not sealed"
      console.print("\(key.kid)\t\(state)\t\(until.map { "published until \($0)" } ?? "newest")\t\(sealed)")
    }
    return .success
  }
}
