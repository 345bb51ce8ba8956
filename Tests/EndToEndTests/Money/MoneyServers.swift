import AppleSimulator
import BramleyClient
import BramleyTesting
import Cryptography
import Encodings
import Foundation
import Gateway
import HTTPMessages
import SQL
import Stores
import System
import Testing
import Transport

/// Where money is counted while servers are killed.
enum MoneyBackend: String, CaseIterable, Sendable, CustomTestStringConvertible {
  /// One process.
  case sqlite
  /// Two processes.
  case postgreSQL

  static let allCases: [MoneyBackend] = [.sqlite] + (TestPostgres.shared == nil ? [] : [.postgreSQL])

  var testDescription: String { rawValue }
}

/// Processes of `bramley serve` before simulated providers in this process, whose own count of what they bill outlives
/// every kill.
final class MoneyServers {
  let folder: Folder
  let bases: [String]
  let anthropic: SimulatedAnthropic
  let fal: SimulatedFal
  let asked = AskedProviders()
  private(set) var programs: [Program] = []

  private static let key = "sk-upstream-0123456789abcdef"

  private let loops: EventLoopGroup
  private let listeners: [HTTPServer]
  private let postgres: TestPostgres?
  private let location: DatabaseLocation
  private let config: String

  /// - Parameter limits: `quotas`, `budgets`, `in_flight` and `burst`.
  init(_ backend: MoneyBackend, limits: String) async throws {
    loops = try EventLoopGroup(loops: 1)
    let sleep: @Sendable (Duration) async throws -> Void = { [loops] in try await loops.next().sleep(for: $0)
    }
    let anthropic = SimulatedAnthropic(apiKey: Self.key, now: { WallClock.seconds }, sleep: sleep)
    let asked = asked
    let claude = try await HTTPServer(
      NotedHandler(asked: asked, handler: anthropic), on: [try #require(SocketAddress("127.0.0.1:0"))],
      loops: loops)
    self.anthropic = anthropic
    // fal is told apart by the host that is asked, and that is known once it listens.
    let pictures = LateHandler()
    let direct = try await HTTPServer(
      pictures, on: [try #require(SocketAddress("127.0.0.1:0"))], loops: loops)
    let queue = try await HTTPServer(pictures, on: [try #require(SocketAddress("127.0.0.1:0"))], loops: loops)
    fal = SimulatedFal(
      apiKey: Self.key,
      hosts: SimulatedFal.Hosts(
        direct: "\(direct.addresses[0])", queue: "\(queue.addresses[0])", media: "files.invalid"),
      sleep: sleep)
    pictures.become(fal)
    listeners = [claude, direct, queue]

    folder = try Folder()
    let authority = try SimulatedAppleCA(now: WallClock.seconds)
    try Files.write(authority.state, to: folder.path("simulated-apple.json"))
    let pem = "-----BEGIN CERTIFICATE-----\n\(Base64.encode(authority.root))\n-----END CERTIFICATE-----\n"
    try Files.write(Array(pem.utf8), to: folder.path("root.pem"))
    let port = TestPorts.deal(2)
    bases = (backend == .sqlite ? [port] : [port, port + 1]).map { "http://127.0.0.1:\($0)" }
    postgres = backend == .sqlite ? nil : TestPostgres()
    location =
      if let postgres { .postgreSQL(PostgresSettings(url: postgres.url)) } else {
        .file(folder.path("data") + "/bramley.sqlite")
      }
    config = try folder.write(
      """
      {
        "admin": { "listen": "127.0.0.1:0" }, "data": "\(folder.path("data"))",
        \(postgres == nil ? "" : "\"database\": { \"url\": { \"env\": \"DATABASE\" } },")
        "attest": {
          "audiences": [\(bases.map { "\"\($0)\"" }.joined(separator: ", "))], "registrations_per_hour": 100000,
          "apps": [{ "app_id": "SIMULATED0.com.example.bramley", "environments": ["development", "production"] }],
          "trust": {
            "certificate": "\(folder.path("root.pem"))",
            "fingerprint": "\(Hex.encode(SHA256.hash(authority.root)))"
          }
        },
        \(limits),
        "providers": {
          "anthropic": {
            "base_url": "http://\(claude.addresses[0])", "api_key": { "env": "KEY" }, "models": ["claude-haiku-4-5"]
          },
          "fal": {
            "base_url": "http://\(direct.addresses[0])", "queue_url": "http://\(queue.addresses[0])",
            "api_key": { "env": "KEY" }, "models": ["fal-ai/flux/schnell"]
          }
        }
      }
      """, "bramley.jsonc")
    for index in bases.indices { programs.append(try start(index)) }
    for program in programs { try await Self.ready(program) }
  }

  /// Kills one as a machine does that loses its power.
  func kill(_ index: Int) async throws {
    programs[index].kill(SIGKILL)
    #expect(try await programs[index].exitCode() == SIGKILL)
  }

  func restart(_ index: Int) async throws {
    programs[index] = try start(index)
    try await Self.ready(programs[index])
  }

  /// Ends all in good order.
  func stop() async throws {
    for program in programs { program.kill(SIGTERM) }
    for program in programs { #expect(try await program.exitCode() == 0) }
    for listener in listeners { await listener.shutdown(within: .seconds(1)) }
    loops.stop()
  }

  /// A new phone that asks by the server of that number.
  func phone(_ number: Int, over network: HTTPClient) throws -> BramleyClient {
    let authority = try SimulatedAppleCA(
      state: Files.read(folder.path("simulated-apple.json"), upTo: 1 << 20))
    let device = try SimulatedDevice(
      authority: authority, app: SimulatedApp(id: "SIMULATED0.com.example.bramley"),
      now: { WallClock.seconds })
    return try BramleyClient(
      baseURL: bases[number % bases.count], transport: network, attestation: device,
      storage: InMemoryKeyIDStorage(), now: { WallClock.seconds })
  }

  /// Runs a step on the database, beside the servers.
  func database<Value: Sendable>(
    _ step: (Database) async throws -> Value
  ) async throws -> Value {
    let database = try Database(location)
    defer { database.close() }
    return try await step(database)
  }

  private func start(_ index: Int) throws -> Program {
    try Program(
      ["serve", "--config", config], in: folder,
      environment: [
        "KEY": Self.key, "DATABASE": postgres?.url ?? "",
        "BRAMLEY_LISTEN": String(bases[index].dropFirst("http://".count)),
      ])
  }

  private static func ready(_ program: Program) async throws {
    try await waitUntil("the server") { program.errorText.contains("serving on") || !program.isRunning }
    try #require(program.isRunning, "\(program.errorText)")
  }
}

/// How often each question reached the provider, by the marks in them.
actor AskedProviders {
  private(set) var marks: [String: Int] = [:]

  /// The request with its content read; a mark is what follows `mark:` up to a blank.
  func note(_ request: HTTPRequest) async throws -> HTTPRequest {
    var request = request
    let body = try await request.body.collect(upTo: 1 << 20)
    request.body = HTTPBody(body)
    if let mark = String(decoding: body, as: UTF8.self).components(separatedBy: "mark:").dropFirst().first {
      marks[String(mark.prefix { $0.isLetter || $0.isNumber || $0 == "-" }), default: 0] += 1
    }
    return request
  }
}

/// Notes what a provider is asked.
private struct NotedHandler: HTTPHandler {
  let asked: AskedProviders
  let handler: any HTTPHandler

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    try await handler.respond(to: try await asked.note(request))
  }
}

/// A handler that is known later.
final class LateHandler: HTTPHandler {
  private let handler = Locked<(any HTTPHandler)?>(nil)

  func become(_ other: any HTTPHandler) { handler.withLock { $0 = other } }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    guard let handler = handler.withLock({ $0 }) else { return HTTPResponse(status: 503) }
    return try await handler.respond(to: request)
  }
}
