import Accounts
import AppAttest
import Encodings
import Stores
import System

/// What the commands share that change one key. A server that runs obeys from its next request on.
enum ChangeKey {
  static let positionals = [
    CommandSyntax.Positional(name: "KEY", summary: "the key id, as `admin keys list` shows it")
  ]

  /// The key id of 32 octets that the arguments name.
  static func keyID(_ arguments: ParsedArguments) throws(UsageError) -> [UInt8] {
    let text = arguments.positional("KEY")
    guard let keyID = Base64.decode(text), keyID.count == 32 else {
      throw .invalid(name: "KEY", value: text, expected: "32 octets in base64")
    }
    return keyID
  }

  static func run(
    _ arguments: ParsedArguments, _ console: Console, refused: String,
    _ change: (any DeviceKeyStore) async throws -> Bool
  ) async throws -> ExitCode {
    let operated = try OperatedDatabase(arguments, console)
    try operated.requireDatabase()
    guard
      try await operated.open({
        try await change(SQLDeviceKeyStore($0, OperatorAct(.command, now: WallClock.milliseconds)))
      })
    else {
      throw CommandFailure(message: refused)
    }
    return .success
  }
}

/// `bramley admin keys revoke`
struct RevokeKey: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "keys", "revoke"], summary: "End a key for good; its app registers a new one.",
    positionals: ChangeKey.positionals, options: OperatedDatabase.options)

  private let arguments: ParsedArguments
  private let keyID: [UInt8]

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    keyID = try ChangeKey.keyID(arguments)
  }

  func run(_ console: Console) async throws -> ExitCode {
    try await ChangeKey.run(arguments, console, refused: "there is no such key") {
      try await $0.revoke(keyID)
    }
  }
}

/// `bramley admin keys ban`
struct BanKey: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "keys", "ban"], summary: "Refuse a key; its app does not register a new one.",
    positionals: ChangeKey.positionals,
    options: OperatedDatabase.options + [.init(name: "lift", summary: "let it in again")])

  private let arguments: ParsedArguments
  private let keyID: [UInt8]

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    keyID = try ChangeKey.keyID(arguments)
  }

  func run(_ console: Console) async throws -> ExitCode {
    let banned = !arguments.flag("lift")
    return try await ChangeKey.run(arguments, console, refused: "there is no such key, or it is revoked") {
      try await $0.setBanned(banned, keyID)
    }
  }
}
