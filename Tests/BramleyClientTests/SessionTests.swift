import BramleyAPI
import BramleyClient
import BramleyTesting
import HTTPMessages
import Testing

@Suite("Session tokens of the client")
struct SessionTests {
  @Test("one assertion buys a token that is kept until a minute before its end")
  func kept() async throws {
    let bench = try Bench()
    let token = try await bench.client.sessionToken()
    bench.clock.advance(seconds: 539)
    #expect(try await bench.client.sessionToken() == token)
    bench.clock.advance(seconds: 1)
    #expect(try await bench.client.sessionToken() != token)
    #expect(await bench.server.count("POST /attest/v1/token") == 2)
    bench.clock.advance(seconds: -5_000)
    _ = try await bench.client.sessionToken()
    #expect(await bench.server.count("POST /attest/v1/token") == 3)
  }

  @Test("many at once make one exchange, other routes another")
  func together() async throws {
    let bench = try Bench()
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await bench.client.sessionToken().token } }
      var tokens: Set<String> = []
      for try await token in group { tokens.insert(token) }
      #expect(tokens.count == 1)
    }
    _ = try await bench.client.sessionToken(routes: ["anthropic"])
    #expect(await bench.server.count("POST /attest/v1/token") == 2)
  }

  @Test("requests go with the token, and once more when the server does not take it")
  func requests() async throws {
    let bench = try Bench()
    let request = HTTPRequest(method: .post, target: "/thing", body: HTTPBody("x"))
    #expect(try await bench.client.respond(to: request, with: .session).status == 200)
    #expect(try await bench.client.respond(to: request, with: .session).status == 200)
    #expect(await bench.device.asserted == 1)
    await bench.server.forgetTokens()
    #expect(try await bench.client.respond(to: request, with: .session).status == 200)
    #expect(await bench.device.asserted == 2)
    #expect(await bench.server.count("POST /thing") == 4)
  }

  @Test("a refused exchange is told with its code")
  func refused() async throws {
    let bench = try Bench()
    try await bench.client.register()
    await bench.server.refuseNext((429, .rateLimited))
    await #expect(throws: BramleyError(.rateLimited, status: 429, message: "as told")) {
      try await bench.client.sessionToken()
    }
    await bench.server.refuseNext((401, .challengeExpired))
    _ = try await bench.client.sessionToken()
  }
}
