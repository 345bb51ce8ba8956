import BramleyAPI
import BramleyClient
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@Suite("Registration by the client")
struct RegistrationTests {
  @Test("the first request registers, and the key is kept only then")
  func first() async throws {
    let bench = try Bench()
    #expect(await bench.storage.load() == nil)
    let response = try await bench.post("hello")
    #expect(response.status == 200)
    #expect(try await response.body.collect(upTo: 100) == Array("hello".utf8))
    #expect(await bench.storage.load()?.keyID == (await bench.device.attested.first?.keyID))
    #expect(await bench.device.generated == 1)
    _ = try await bench.post()
    #expect(await bench.server.count("POST /attest/v1/keys") == 1)
  }

  @Test("a stored key is used without a new registration")
  func stored() async throws {
    let first = try Bench()
    try await first.client.register()
    let clock = first.clock
    let again = try BramleyClient(
      baseURL: ScriptedServer.audience, transport: first.server, attestation: first.device,
      storage: first.storage, now: { clock.seconds })
    let response = try await again.respond(to: HTTPRequest(method: .get, target: "/thing"))
    #expect(response.status == 200)
    #expect(await first.device.generated == 1)
  }

  @Test("many at once make one registration")
  func singleFlight() async throws {
    let bench = try Bench()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<50 { group.addTask { try await bench.post("\(number)").status } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(await bench.device.generated == 1)
    #expect(await bench.server.count("POST /attest/v1/keys") == 1)
  }

  @Test(
    "while Apple is away the same key and hash are tried again, and after the challenge's end the same key")
  func appleAway() async throws {
    let bench = try Bench()
    await bench.device.failAttesting(.serverUnavailable, .serverUnavailable, .serverUnavailable)
    for _ in 0..<2 {
      await #expect(throws: BramleyError(.appleUnavailable)) { try await bench.client.register() }
    }
    bench.clock.advance(seconds: 400)
    await #expect(throws: BramleyError(.appleUnavailable)) { try await bench.client.register() }
    try await bench.client.register()
    let attested = await bench.device.attested
    #expect(attested.count == 4)
    #expect(Set(attested.map(\.keyID)).count == 1)
    #expect(attested[0].hash == attested[1].hash)
    #expect(attested[1].hash != attested[2].hash)
    #expect(attested[2].hash == attested[3].hash)
    #expect(await bench.device.generated == 1)
  }

  @Test("an answer that got lost is asked for again with the same attestation")
  func lostAnswer() async throws {
    let bench = try Bench()
    await bench.server.answerRegistrations(.registerAndLose)
    await #expect(throws: ScriptedServer.Lost.self) { try await bench.client.register() }
    #expect(await bench.storage.load() == nil)
    try await bench.client.register()
    #expect(await bench.device.generated == 1)
    #expect(await bench.device.attested.count == 1)
    #expect(await bench.storage.load() != nil)
  }

  @Test("an outage of the server keeps the attestation, a verdict throws the key away and cools down")
  func verdicts() async throws {
    let bench = try Bench()
    await bench.server.answerRegistrations(
      .refuse(503, .unavailable), .refuse(429, .rateLimited), .refuse(400, .attestationInvalid))
    for (status, code) in [(503, ErrorCode.unavailable), (429, .rateLimited), (400, .attestationInvalid)] {
      await #expect(throws: BramleyError(code, status: status, message: "as told")) {
        try await bench.client.register()
      }
    }
    #expect(await bench.device.attested.count == 1)
    bench.clock.advance(seconds: 100)
    await #expect(throws: BramleyError(.registrationCoolDown, retryAfter: 500)) {
      try await bench.client.register()
    }
    #expect(await bench.device.generated == 1)
    bench.clock.advance(seconds: 500)
    try await bench.client.register()
    #expect(await bench.device.generated == 2)
  }

  @Test("a registration challenge that did not hold is worth one more key, not two")
  func lateAttestation() async throws {
    let bench = try Bench()
    await bench.server.answerRegistrations(.refuse(401, .challengeExpired))
    try await bench.client.register()
    #expect(await bench.device.generated == 2)
    let other = try Bench()
    await other.server.answerRegistrations(.refuse(401, .challengeExpired), .refuse(401, .challengeExpired))
    await #expect(throws: BramleyError.self) { try await other.client.register() }
    #expect(await other.device.generated == 2)
    await #expect(throws: BramleyError(.registrationCoolDown, retryAfter: 600)) {
      try await other.client.register()
    }
  }

  @Test("a device that cannot attest says so, and a refusing one cools down")
  func unsupported() async throws {
    let bench = try Bench()
    await bench.device.setSupported(false)
    await #expect(throws: BramleyError(.attestationUnsupported)) { try await bench.post() }
    await bench.device.setSupported(true)
    await bench.device.failAttesting(.invalidKey)
    await #expect(throws: BramleyError.self) { try await bench.post() }
    await #expect(throws: BramleyError(.registrationCoolDown, retryAfter: 600)) { try await bench.post() }
  }

  @Test("a storage that cannot be read registers nothing; one that cannot be written is asked again")
  func storage() async throws {
    actor Broken: KeyIDStorage {
      struct Locked: Error {}
      var canLoad = false
      var canSave = false
      var saved: StoredKey?
      func open(load: Bool, save: Bool) { (canLoad, canSave) = (load, save) }
      func load() throws -> StoredKey? {
        if !canLoad { throw Locked() }
        return saved
      }
      func save(_ key: StoredKey) throws {
        if !canSave { throw Locked() }
        saved = key
      }
    }
    let bench = try Bench()
    let storage = Broken()
    let clock = bench.clock
    let client = try BramleyClient(
      baseURL: ScriptedServer.audience, transport: bench.server, attestation: bench.device, storage: storage,
      now: { clock.seconds })
    await #expect(throws: Broken.Locked.self) { try await client.register() }
    #expect(await bench.device.generated == 0)
    await storage.open(load: true, save: false)
    await #expect(throws: Broken.Locked.self) { try await client.register() }
    await storage.open(load: true, save: true)
    try await client.register()
    #expect(await storage.saved != nil)
    #expect(await bench.device.generated == 1)
  }

  @Test("when the caller that registers is cancelled, another does it")
  func cancelled() async throws {
    /// Holds the first registration until its task is cancelled.
    actor Holding: HTTPHandler {
      let server: ScriptedServer
      var held = 0
      init(_ server: ScriptedServer) { self.server = server }
      func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        if request.target.hasSuffix(AttestTargets.keys), held == 0 {
          held += 1
          try await Task.sleep(for: .seconds(60))
        }
        return try await server.respond(to: request)
      }
    }
    let clock = FixedClock(seconds: 1_790_000_000)
    let holding = Holding(ScriptedServer(clock: clock))
    let device = ScriptedDevice()
    let client = try BramleyClient(
      baseURL: ScriptedServer.audience, transport: holding, attestation: device,
      storage: InMemoryKeyIDStorage(), now: { clock.seconds })
    let first = Task { try await client.register() }
    while await holding.held == 0 { try await Task.sleep(for: .milliseconds(1)) }
    async let second: Void = client.register()
    first.cancel()
    try await second
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(await device.generated == 1)
  }
}
