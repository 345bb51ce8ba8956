import Encodings

/// `bramley simulate apple settings`
struct AppleSettings: Command {
  static let syntax = CommandSyntax(
    words: ["simulate", "apple", "settings"],
    summary: "Change what a simulated Apple Account shares, and have Apple tell the server.",
    positionals: [
      .init(name: "CHANGE", summary: Change.allCases.map(\.rawValue).joined(separator: ", "))
    ],
    options: [
      .init(name: "account", value: "EMAIL", summary: "whose", fallback: AppleSignIn.defaultAccount),
      .init(name: "client", value: "ID", summary: "the app's bundle id", fallback: StoredAppleID.app),
    ] + SimulatedPhone.options(device: AppleSignIn.defaultDevice),
    discussion: """
      Against `bramley dev`, which is sent Apple's notification before the command ends.
      revoke: the user stops using Sign in with Apple for the app. delete-account: the user deletes the
      Apple Account. email-off, email-on: mail to the relay address (sign-in --hide-email) is not
      forwarded, or is again.
      """)

  /// What can be changed.
  enum Change: String, CaseIterable, Sendable {
    case revoke
    case deleteAccount = "delete-account"
    case emailOff = "email-off"
    case emailOn = "email-on"

    /// The simulated Apple's door.
    var door: String {
      switch self {
      case .revoke: "revoke-consent"
      case .deleteAccount: "delete-account"
      case .emailOff, .emailOn: "forwarding"
      }
    }
  }

  private let arguments: ParsedArguments
  private let change: Change
  private let account: String

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    let text = arguments.positional("CHANGE")
    guard let change = Change(rawValue: text) else {
      throw .invalid(name: "CHANGE", value: text, expected: "one of " + Self.syntax.positionals[0].summary)
    }
    self.change = change
    account = AppleSignIn.account(arguments)
  }

  func run(_ console: Console) async throws -> ExitCode {
    let phone = try SimulatedPhone(arguments, device: AppleSignIn.defaultDevice)
    let answer = try await phone.reaching {
      try await AccountCall.plain(
        phone, StoredAppleID.path + "/simulator/" + change.door,
        [
          "account": .string(account),
          "client_id": .string(arguments.value("client") ?? StoredAppleID.app),
          "enabled": .bool(change == .emailOn),
        ])
    }
    let count = answer["notifications"]?.elements?.count ?? 0
    console.print(
      "\(account): \(change.rawValue); Apple told the server \(count == 1 ? "once" : "\(count) times")")
    return .success
  }
}
