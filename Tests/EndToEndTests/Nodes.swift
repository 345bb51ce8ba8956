import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import Foundation
import System
import Testing
import Transport

/// Two processes of `bramley serve` on one PostgreSQL, in front of a simulated provider in this process.
final class Nodes {
  /// Where each is; the phones sign for it.
  let bases: [String]
  let folder: Folder
  private(set) var programs: [Program] = []

  private static let key = "sk-upstream-0123456789abcdef"

  /// Where the doors of the simulated Apple are.
  let appleDoors: String

  private let loops: EventLoopGroup
  private let upstream: HTTPServer
  private let apple: HTTPServer
  private let appleKey: SimulatedTeamKey
  private let config: String

  init(database: String, statementTimeout: Int = 10) async throws {
    loops = try EventLoopGroup(loops: 1)
    let provider = SimulatedAnthropic(
      apiKey: Self.key, now: { WallClock.seconds },
      sleep: { [loops] in try await loops.next().sleep(for: $0) })
    upstream = try await HTTPServer(
      provider, on: [try #require(SocketAddress("127.0.0.1:0"))], loops: loops)
    let simulated = try SimulatedAppleID(
      clients: [
        SimulatedAppleClient(clientID: "com.example.bramley", kind: .native, teamID: "SIMULATED0")
      ], now: { WallClock.seconds }, sleep: { [loops] in try await loops.next().sleep(for: $0) })
    appleKey = try await simulated.makeKey(team: "SIMULATED0")
    apple = try await HTTPServer(
      SimulatedAppleControl(simulated), on: [try #require(SocketAddress("127.0.0.1:0"))], loops: loops)
    appleDoors = "http://\(apple.addresses[0])"
    folder = try Folder()
    let authority = try SimulatedAppleCA(now: WallClock.seconds)
    try Files.write(authority.state, to: folder.path("simulated-apple.json"))
    let pem = "-----BEGIN CERTIFICATE-----\n\(Base64.encode(authority.root))\n-----END CERTIFICATE-----\n"
    try Files.write(Array(pem.utf8), to: folder.path("root.pem"))
    let port = TestPorts.deal(2)
    bases = [port, port + 1].map { "http://127.0.0.1:\($0)" }
    config = try folder.write(
      """
      {
        "admin": { "listen": "127.0.0.1:0" }, "database": { "url": { "env": "DATABASE" }, "statement_timeout": \(statementTimeout) },
        "attest": {
          "audiences": ["\(bases[0])", "\(bases[1])"],
          "apps": [{ "app_id": "SIMULATED0.com.example.bramley", "environments": ["development", "production"] }],
          "trust": {
            "certificate": "\(folder.path("root.pem"))",
            "fingerprint": "\(Hex.encode(SHA256.hash(authority.root)))"
          }
        },
        "auth": {
          "apple": {
            "team_id": "SIMULATED0", "key_id": "\(appleKey.keyID)", "private_key": { "env": "APPLE_KEY" },
            "clients": [{ "id": "com.example.bramley" }], "base_url": "\(appleDoors)"
          }
        },
        "in_flight": 100, "burst": { "requests": 1000, "seconds": 1 },
        "quotas": [{ "name": "daily", "subject": "key", "limit": 100000 }],
        "providers": {
          "anthropic": {
            "base_url": "http://\(upstream.addresses[0])", "api_key": { "env": "KEY" },
            "models": ["claude-haiku-4-5"]
          }
        }
      }
      """, "bramley.jsonc")
    self.database = database
    programs = [try start(0), try start(1)]
    for program in programs { try await Self.ready(program) }
  }

  private let database: String

  /// Starts one again that was killed.
  func restart(_ index: Int) async throws {
    programs[index] = try start(index)
    try await Self.ready(programs[index])
  }

  func stop() async throws {
    for program in programs { program.kill(SIGTERM) }
    for program in programs { #expect(try await program.exitCode() == 0) }
    await upstream.shutdown(within: .seconds(1))
    await apple.shutdown(within: .seconds(1))
    loops.stop()
  }

  private func start(_ index: Int) throws -> Program {
    try Program(
      ["serve", "--config", config], in: folder,
      environment: [
        "KEY": Self.key, "DATABASE": database, "APPLE_KEY": appleKey.p8,
        "BRAMLEY_LISTEN": String(bases[index].dropFirst("http://".count)),
      ])
  }

  private static func ready(_ program: Program) async throws {
    try await waitUntil("the server") { program.errorText.contains("serving on") || !program.isRunning }
    try #require(program.isRunning, "\(program.errorText)")
  }
}
