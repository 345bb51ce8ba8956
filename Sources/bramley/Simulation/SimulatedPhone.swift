import AppleSimulator
import BramleyClient
import HTTPMessages
import Server
import System
import Transport

/// A simulated phone with the SDK in it, pointed at a server: what the commands of `simulate` share.
struct SimulatedPhone: Sendable {
  /// Their options.
  static func options(device: String) -> [CommandSyntax.Option] {
    [
      .init(name: "server", value: "URL", summary: "the server's base URL", fallback: defaultServer),
      .init(
        name: "data", value: "DIR", summary: "where the simulated Apple and the phones are kept",
        fallback: DataDirectory.developmentDefault),
      .init(name: "device", value: "NAME", summary: "which simulated phone", fallback: device),
    ]
  }

  private static let defaultServer = "http://127.0.0.1:8080"

  let server: String
  let client: BramleyClient
  let device: StoredDevice
  let loops: EventLoopGroup
  /// What it keeps of its user's session with the server.
  let session: StoredSession
  private let transport: any HTTPHandler

  /// The phone that the arguments name, made when there is none.
  init(_ arguments: ParsedArguments, device fallback: String) throws {
    let name =
      try arguments.value("device", expected: "a name of letters, digits, dots, hyphens and underscores") {
        StoredDevice.isName($0) ? $0 : nil
      } ?? fallback
    let data = arguments.dataDirectory
    server =
      try arguments.value("server", expected: "a base URL such as \(Self.defaultServer)") { text in
        let url = text.hasSuffix("/") ? String(text.dropLast()) : text
        return BaseURL(url).map { _ in url }
      } ?? Self.defaultServer
    let authority = try SimulatedApple.authority(in: data)
    device = try StoredDevice(named: name, in: data, authority: authority)
    loops = try EventLoopGroup(loops: 1)
    transport = try HTTPClient(on: loops)
    session = StoredSession(device: name, server: server, in: data)
    var options = BramleyClient.Options()
    // A simulated attestation costs nothing.
    options.registrationCoolDown = 1
    options.sendsDeviceToken = true
    options.allowsPlainHTTP = true
    client = try BramleyClient(
      baseURL: server, transport: transport, attestation: device,
      storage: StoredKeyID(device: name, server: server, in: data), options: options,
      now: { WallClock.seconds })
  }

  /// Registers the phone, if it is not registered.
  func register() async throws {
    try await reaching { try await client.register() }
  }

  /// Sends a request to the server as it is, without evidence.
  func sendPlain(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard let base = BaseURL(server) else { throw CommandFailure(message: "\(server) is no base URL") }
    var request = request
    request.scheme = base.scheme
    request.authority = base.authority
    request.target = base.path + request.target
    return try await transport.respond(to: request)
  }

  /// What the body throws, said plainly where the server cannot be reached.
  func reaching<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as HTTPClientError where error == .connect {
      throw CommandFailure(message: "nobody answers at \(server); is the server running?")
    } catch let error as HTTPClientError where error == .tls {
      throw CommandFailure(
        message: "\(server) does not speak TLS, or has no certificate that holds; is it http://?")
    } catch let error as HTTPClientError {
      throw CommandFailure(message: "\(server): \(error)")
    }
  }
}
