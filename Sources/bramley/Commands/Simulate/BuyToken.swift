import BramleyAPI
import BramleyClient

/// `bramley simulate token`
struct BuyToken: Command {
  static let syntax = CommandSyntax(
    words: ["simulate", "token"], summary: "Buy a session token as a simulated phone, and print it.",
    options: SimulatedPhone.options(device: defaultDevice),
    discussion: """
      For clients whose header fields are fixed, on routes whose policy is `session`: it goes where
      the provider's key would go, and holds for ten minutes at most.
      """)

  private static let defaultDevice = "phone"
  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(UsageError) { self.arguments = arguments }

  func run(_ console: Console) async throws -> ExitCode {
    let phone = try SimulatedPhone(arguments, device: Self.defaultDevice)
    let answer = try await phone.reaching { try await phone.client.sessionToken() }
    console.note("holds for \(answer.expiresIn) seconds")
    console.print(answer.token)
    return .success
  }
}
