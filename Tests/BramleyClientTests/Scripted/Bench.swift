import BramleyAPI
import BramleyClient
import BramleyTesting
import HTTPMessages

/// A client with its scripted surroundings.
struct Bench {
  let clock = FixedClock(seconds: 1_790_000_000)
  let server: ScriptedServer
  let device = ScriptedDevice()
  let storage: InMemoryKeyIDStorage
  let client: BramleyClient

  init(
    stored: StoredKey? = nil, upstream: any HTTPHandler = ScriptedServer.Echo(),
    transport: (@Sendable (ScriptedServer) -> any HTTPHandler)? = nil,
    options: BramleyClient.Options = .init()
  ) throws {
    server = ScriptedServer(clock: clock, upstream: upstream)
    storage = InMemoryKeyIDStorage(stored)
    let clock = clock
    client = try BramleyClient(
      baseURL: ScriptedServer.audience + "/", transport: transport?(server) ?? server, attestation: device,
      storage: storage, options: options, now: { clock.seconds })
  }

  func post(_ body: String = "body", fields: HTTPFields = [:]) async throws -> HTTPResponse {
    try await client.respond(
      to: HTTPRequest(method: .post, target: "/thing?x=%20y", fields: fields, body: HTTPBody(body)))
  }

  func code(_ response: HTTPResponse) async throws -> ErrorCode? {
    ErrorAnswer(body: try await response.body.collect(upTo: 65_536)).code
  }
}
