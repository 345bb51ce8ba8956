import System
import Transport

/// `bramley simulate proxy`
struct Proxy: Command {
  static let syntax = CommandSyntax(
    words: ["simulate", "proxy"], summary: "Play the phone for any client: sign what passes through.",
    options: [
      .init(name: "listen", value: "ADDRESS", summary: "IP address and port", fallback: defaultAddress)
    ] + SimulatedPhone.options(device: defaultDevice),
    discussion: """
      Whatever comes is sent on to the server under the same path, signed by the simulated phone. The
      client's own credentials are left out. Point an official SDK at it:
      base_url="http://127.0.0.1:8081/ai/anthropic".
      """)

  private static let defaultAddress = "127.0.0.1:8081"
  private static let defaultDevice = "proxy"

  private let arguments: ParsedArguments
  private let listen: SocketAddress

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    let text = arguments.value("listen") ?? Self.defaultAddress
    guard let address = SocketAddress(text) else {
      throw .invalid(
        name: "--listen", value: text, expected: "an IP address and a port such as 127.0.0.1:8081")
    }
    listen = address
  }

  func run(_ console: Console) async throws -> ExitCode {
    let phone = try SimulatedPhone(arguments, device: Self.defaultDevice)
    try await phone.register()
    let server: HTTPServer
    do {
      server = try await HTTPServer(SigningProxy(client: phone.client), on: [listen], loops: phone.loops)
    } catch {
      throw CommandFailure(message: "cannot listen on \(listen): \(error)")
    }
    console.note("signing for \(phone.server) on http://\(server.addresses.first ?? listen)")
    let signals = try Signals(on: phone.loops.next())
    repeat {} while try await signals.next() == .hangUp
    await server.shutdown(within: .seconds(10))
    phone.loops.stop()
    return .success
  }
}
