import Encodings

/// `bramley simulate risk`
struct DeviceRisk: Command {
  static let syntax = CommandSyntax(
    words: ["simulate", "risk"], summary: "Say how many keys a simulated phone has attested in 30 days.",
    positionals: [.init(name: "NUMBER", summary: "the risk metric, or `real`: as many as it has")],
    options: SimulatedPhone.options(device: defaultDevice),
    discussion: """
      Against `bramley dev`. Apple's next receipt of the phone says so: of a key that is registered
      afterwards within half a minute, of one that is known when its receipt is refreshed. It is
      forgotten when the server ends. `bramley admin keys list` shows what the server was told.
      """)

  private static let defaultDevice = "phone"

  private let arguments: ParsedArguments
  private let risk: Int64?

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    let text = arguments.positional("NUMBER")
    if text == "real" {
      risk = nil
      return
    }
    guard let number = Int64(text), (0...65_535).contains(number) else {
      throw .invalid(name: "NUMBER", value: text, expected: "a number from 0 to 65535, or real")
    }
    risk = number
  }

  func run(_ console: Console) async throws -> ExitCode {
    let phone = try SimulatedPhone(arguments, device: Self.defaultDevice)
    try await phone.device.keep()
    let device = Base64.encode(phone.device.deviceID)
    _ = try await phone.reaching {
      try await AccountCall.plain(
        phone, DevelopmentDevices.path + "/simulator/risk",
        ["device": .string(device), "risk": risk.map { .integer($0) } ?? .null])
    }
    console.print(
      risk.map { "Apple's next receipt of this phone has the risk metric \($0)" }
        ?? "Apple's next receipt of this phone has the number of its keys")
    return .success
  }
}
