import AppleSimulator
import BramleyAPI
import BramleyClient
import BramleyTesting
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("The SDK meets the server")
struct ClientMeetsServerTests {
  /// A phone with the SDK, whose clock and network the test has in its hand.
  struct App {
    let server: WholeServer
    let device: SimulatedDevice
    let storage: InMemoryKeyIDStorage
    let clock: FixedClock
    let client: BramleyClient

    init(_ server: WholeServer, stored: StoredKey? = nil, device: SimulatedDevice? = nil) async throws {
      let serverClock = server.clock
      let clock = FixedClock(seconds: serverClock.seconds)
      let made = try device ?? Self.device(of: server)
      self.server = server
      self.clock = clock
      self.device = made
      storage = InMemoryKeyIDStorage(stored)
      client = try BramleyClient(
        baseURL: WholeServer.audience,
        transport: Handler { request in
          var request = request
          request.peer = "192.0.2.7"
          return try await server.send(request)
        }, attestation: made, storage: storage, now: { clock.seconds })
    }

    static func device(of server: WholeServer) throws -> SimulatedDevice {
      let clock = server.clock
      return try SimulatedDevice(
        authority: server.authority, app: WholeServer.app, now: { clock.seconds })
    }

    func ask(_ text: String = "hello") async throws -> String {
      try await client.ask(text, model: "claude-haiku-4-5", maxTokens: 64).text()
    }
  }

  @Test("a new phone registers and streams an answer, and what it was billed is booked")
  func ask() async throws {
    let server = try await WholeServer()
    let app = try await App(server)
    #expect(try await app.ask().contains("“hello”"))
    #expect(try await app.ask("[simulate: bytes 1] again").contains("again"))
    let usage = try await server.usage()
    #expect(usage.count == 2)
    #expect(server.anthropic.billing.calls == 2)
  }

  @Test("many requests at once make one registration, and all pass")
  func together() async throws {
    let server = try await WholeServer()
    let app = try await App(server)
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 { group.addTask { try await app.ask() } }
      for try await text in group { #expect(!text.isEmpty) }
    }
    #expect(server.anthropic.billing.calls == 40)
    let registrations = server.lines.values.filter { $0.contains("key_registered") }
    #expect(registrations.count == 1)
  }

  @Test("a session token serves many requests")
  func session() async throws {
    let server = try await WholeServer()
    let app = try await App(server)
    for _ in 0..<3 {
      let answer = try await app.client.ask("hello", model: "claude-haiku-4-5", with: .session)
      #expect(try await !answer.text().isEmpty)
    }
    let token = try await app.client.sessionToken()
    #expect(token.token.hasPrefix("bat_"))
    #expect(token.expiresIn > 60)
  }

  @Test("a key that the server does not know is replaced once")
  func unknownKey() async throws {
    let server = try await WholeServer()
    let device = try App.device(of: server)
    let keyID = try await device.generateKey()
    _ = try await device.attestKey(keyID, clientDataHash: [1])
    let app = try await App(server, stored: StoredKey(keyID: keyID, registeredAt: 0), device: device)
    #expect(try await !app.ask().isEmpty)
    #expect(await app.storage.load()?.keyID != keyID)
  }

  @Test("a phone whose clock stands still gets a fresh challenge and passes")
  func clock() async throws {
    let server = try await WholeServer()
    let app = try await App(server)
    _ = try await app.ask()
    server.clock.advance(seconds: 1_000)
    #expect(try await !app.ask().isEmpty)
    let registrations = server.lines.values.filter { $0.contains("key_registered") }
    #expect(registrations.count == 1)
  }

  @Test("counters that were used are told, and no new key is made")
  func counters() async throws {
    let server = try await WholeServer()
    let app = try await App(server)
    for _ in 0..<3 { _ = try await app.ask() }
    let key = try #require(await app.storage.load())
    #expect(await app.device.setCounter(0, of: key.keyID))
    await #expect {
      _ = try await app.ask()
    } throws: { error in
      (error as? BramleyError)?.code == .counterReplayed && (error as? BramleyError)?.status == 401
    }
    #expect(try await !app.ask().isEmpty)
    #expect(await app.storage.load() == key)
    #expect(server.anthropic.billing.calls == 4)
  }

  @Test("an allowance that is used up is told with its code")
  func quota() async throws {
    let server = try await WholeServer { $0.quotas = [.init(name: "daily", subject: .key, limit: 2)] }
    let app = try await App(server)
    for _ in 0..<2 { _ = try await app.ask() }
    await #expect {
      _ = try await app.ask()
    } throws: { error in
      let error = error as? BramleyError
      return error?.code == .quotaExceeded && error?.status == 429 && error?.retryAfter ?? 0 > 0
    }
    #expect(server.anthropic.billing.calls == 2)
  }
}
