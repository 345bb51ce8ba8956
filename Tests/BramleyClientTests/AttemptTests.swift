import BramleyAPI
import BramleyClient
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@Suite("Attempts of the client")
struct AttemptTests {
  @Test("an error reads as one sentence whatever its parts end in")
  func sentence() {
    #expect(
      "\(BramleyError("busy", status: 529, message: "Try again soon.", retryAfter: 5))"
        == "busy (529): Try again soon; try again in 5 s")
    #expect("\(BramleyError("busy", message: "Try again soon."))" == "busy: Try again soon.")
    #expect("\(BramleyError("busy", retryAfter: 5))" == "busy; try again in 5 s")
  }

  @Test("a conversation costs one round trip a request")
  func roundTrips() async throws {
    let bench = try Bench()
    for _ in 0..<30 { _ = try await bench.post() }
    #expect(await bench.server.count("GET /attest/v1/challenge") == 2)
    #expect(await bench.server.count("POST /thing") == 30)
  }

  @Test("a burst fetches many challenges at once")
  func burst() async throws {
    let bench = try Bench()
    _ = try await bench.post()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<64 { group.addTask { try await bench.post().status } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(await bench.server.count("GET /attest/v1/challenge") < 24)
  }

  @Test("the Authorization field is signed, and evidence of another hand is replaced")
  func fields() async throws {
    let bench = try Bench()
    let response = try await bench.post(
      fields: ["authorization": "Bearer abc", "X-Attest-Challenge": "theirs", "x-attest-session": "theirs"])
    #expect(response.status == 200)
    let arrived = try #require(await bench.server.attestedRequests.first)
    #expect(arrived.fields.values("x-attest-challenge").count == 1)
    #expect(arrived.fields["x-attest-session"] == nil)
    #expect(arrived.fields["authorization"] == "Bearer abc")
    var twice: HTTPFields = ["authorization": "a"]
    twice.append("Authorization", "b")
    let fields = twice
    await #expect(throws: BramleyError(.unattestableRequest)) { try await bench.post(fields: fields) }
    await #expect(throws: BramleyError(.unattestableRequest)) {
      try await bench.client.respond(to: HTTPRequest(method: .get, target: "https://elsewhere.example/"))
    }
  }

  @Test(
    "a challenge or counter that did not hold is tried once more, and never registers anew",
    arguments: [
      ErrorCode.challengeExpired, .challengeInvalid, .challengeUsed, .counterReplayed,
    ])
  func retried(code: ErrorCode) async throws {
    let bench = try Bench()
    _ = try await bench.post()
    await bench.server.refuseNext((401, code))
    #expect(try await bench.post().status == 200)
    await bench.server.refuseNext((401, code), (401, code), (401, code))
    let refused = try await bench.post()
    #expect(refused.status == 401)
    #expect(try await bench.code(refused) == code)
    #expect(await bench.server.count("POST /thing") == 5)
    #expect(await bench.device.generated == 1)
    #expect(await bench.server.count("POST /attest/v1/keys") == 1)
  }

  @Test(
    "other refusals come through at once",
    arguments: [
      (401, ErrorCode.badSignature), (401, "user_token_expired"), (403, .keyRevoked), (429, .quotaExceeded),
      (500, .unknownKey), (503, .challengeExpired),
    ])
  func through(status: Int, code: ErrorCode) async throws {
    let bench = try Bench()
    _ = try await bench.post()
    await bench.server.refuseNext((status, code))
    let response = try await bench.post()
    #expect(response.status == status)
    #expect(try await bench.code(response) == code)
    #expect(await bench.server.count("POST /thing") == 2)
    #expect(await bench.device.generated == 1)
  }

  @Test("an unknown key is tried once more before anything else")
  func unknownOnce() async throws {
    let bench = try Bench()
    _ = try await bench.post()
    await bench.server.refuseNext((401, .unknownKey))
    #expect(try await bench.post().status == 200)
    #expect(await bench.device.generated == 1)
  }

  @Test("a server that lost its keys gets one new registration, and no second within the cool-down")
  func lostByServer() async throws {
    let bench = try Bench()
    _ = try await bench.post()
    bench.clock.advance(seconds: 10_000)
    await bench.server.forgetEverything()
    #expect(try await bench.post().status == 200)
    #expect(await bench.device.generated == 2)
    let kept = await bench.storage.load()
    #expect(kept?.keyID == (await bench.device.attested.last?.keyID))
    await bench.server.forgetEverything()
    bench.clock.advance(seconds: 599)
    let refused = try await bench.post()
    #expect(refused.status == 401)
    #expect(try await bench.code(refused) == .unknownKey)
    #expect(await bench.device.generated == 2)
    #expect(await bench.storage.load() == kept)
    bench.clock.advance(seconds: 1)
    #expect(try await bench.post().status == 200)
    #expect(await bench.device.generated == 3)
  }

  @Test("many that find the key unknown make one new registration")
  func lostByServerTogether() async throws {
    let bench = try Bench()
    _ = try await bench.post()
    bench.clock.advance(seconds: 10_000)
    await bench.server.forgetEverything()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<40 { group.addTask { try await bench.post().status } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(await bench.device.generated == 2)
  }

  @Test("a key that the device lost is replaced once")
  func lostByDevice() async throws {
    let bench = try Bench(stored: StoredKey(keyID: Base64.encode([1, 2, 3]), registeredAt: 5))
    await bench.device.failAsserting(.invalidKey)
    #expect(try await bench.post().status == 200)
    #expect(await bench.device.generated == 1)
    bench.clock.advance(seconds: 10_000)
    await bench.device.failAsserting(.invalidKey, .invalidKey, .invalidKey)
    await #expect(throws: BramleyError.self) { try await bench.post() }
    #expect(await bench.device.generated == 2)
  }

  @Test(
    "RULES §1.3: a challenge above 64 bytes is refused, and nothing is signed", arguments: [0, 65, 1_000])
  func longChallenge(length: Int) async throws {
    let bench = try Bench()
    await bench.server.issueChallenges(length: length)
    await #expect(throws: BramleyError(.challengeRefused)) { try await bench.post() }
    #expect(await bench.device.generated == 0)
    await bench.server.issueChallenges(length: 42)
    try await bench.client.register()
    await bench.server.issueChallenges(length: length)
    await #expect(throws: BramleyError(.challengeRefused)) { try await bench.post() }
    #expect(await bench.device.asserted == 0)
    await bench.server.issueChallenges(length: 42)
    #expect(try await bench.post().status == 200)
    await bench.server.issueChallenges(length: length)
    // Fetched ahead, four are left; what the answers bring is not taken.
    for _ in 0..<4 { _ = try await bench.post() }
    await #expect(throws: BramleyError(.challengeRefused)) { try await bench.post() }
  }

  @Test("challenges are not used beyond their life, and a wrong clock does not starve the client")
  func expiry() async throws {
    let bench = try Bench()
    _ = try await bench.post()
    bench.clock.advance(seconds: 301)
    _ = try await bench.post()
    #expect(await bench.server.count("GET /attest/v1/challenge") == 3)
    for skew: Int64 in [-90_000, 90_000] {
      let server = bench.server
      let clock = bench.clock
      let client = try BramleyClient(
        baseURL: ScriptedServer.audience, transport: server, attestation: bench.device,
        storage: bench.storage, now: { clock.seconds + skew })
      let before = await server.count("GET /attest/v1/challenge")
      for _ in 0..<5 {
        #expect(try await client.respond(to: HTTPRequest(method: .get, target: "/thing")).status == 200)
      }
      #expect(await server.count("GET /attest/v1/challenge") == before + 1)
    }
  }

  #if DEBUG
    @Test("RULES §6.5: a debug token goes in place of an attestation, and is not shown")
    func debugToken() async throws {
      var options = BramleyClient.Options()
      options.debugToken = "bdt_secret"
      let bench = try Bench(options: options)
      let refused = try await bench.post()
      #expect(refused.status == 401)
      #expect(try await bench.code(refused) == .invalidSession)
      #expect(await bench.device.generated == 0)
      #expect(await bench.server.log == ["POST /thing?x=%20y"])
      var dumped = "\(options)"
      dump(options, to: &dumped)
      #expect(!dumped.contains("secret"))
    }
  #endif
}
