import AppleSimulator
import BramleyAPI
import BramleyClient
import BramleyTesting
import Encodings
import HTTPMessages
import Synchronization
import Testing

@testable import Server

@Suite("The SDK calls functions")
struct FunctionClientTests {
  private func server() async throws -> WholeServer {
    var over = Configuration()
    over.anthropic = Configuration.Anthropic(apiKey: Secret(WholeServer.apiKey))
    let functions = try ExampleFunctions.functions(over: over)
    return try await WholeServer({ $0.functions = functions })
  }

  @Test("whole and as it comes")
  func answers() async throws {
    let server = try await server()
    let client = try server.client()
    let answer = try await client.callFunction("calories", ["meal": "soup"], with: .session)
    #expect(answer.stop == "end" && answer.result?["kcal"]?.integer ?? 0 > 0)
    var pieces = 0
    var last: FunctionAnswer?
    for try await event in try await client.streamFunction("calories", ["meal": "tea"]) {
      switch event {
      case .text: pieces += 1
      case .done(let answer): last = answer
      }
    }
    #expect(pieces > 1 && last?.result?["confidence"]?.string == "low")
    let error = await #expect(throws: BramleyError.self) {
      try await client.callFunction("calories", ["dish": "soup"])
    }
    #expect(error?.code == "field_not_allowed" && error?.status == 400)
  }

  @Test("RULES §5.8: where the connection breaks the SDK asks again, and the call is made once")
  func again() async throws {
    let server = try await server()
    let whole = server.server
    let breaks = Atomic<Bool>(true)
    let clock = server.clock
    let device = try SimulatedDevice(
      authority: server.authority, app: WholeServer.app, now: { clock.seconds })
    let client = try BramleyClient(
      baseURL: WholeServer.audience,
      transport: Handler { request in
        let isCall = request.target.hasPrefix("/functions/")
        let response = try await whole.handler.respond(to: request)
        if isCall, breaks.exchange(false, ordering: .relaxed) { throw HTTPClientError.interrupted }
        return response
      }, attestation: device, storage: InMemoryKeyIDStorage(), now: { clock.seconds })
    let answer = try await client.callFunction("calories", ["meal": "soup"])
    #expect(answer.stop == "end")
    #expect(server.upstreamRequests.values.count == 1)
    #expect(try await server.usage().count == 1)
  }
}
