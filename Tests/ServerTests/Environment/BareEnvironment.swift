import BramleyTesting
import HTTPMessages

@testable import Server

/// A server without a database and without a provider, for what needs neither.
struct BareServer {
  let clock = FixedClock(seconds: 1_796_040_000)
  let lines = Recorder<String>()
  let server: Server

  init(_ change: (inout Configuration) -> Void = { _ in }, isReady: Bool = true) throws {
    var configuration = Configuration()
    change(&configuration)
    let (clock, lines, serial) = (clock, lines, Counter())
    server = try Server(
      Environment(
        configuration: configuration, now: { clock.now },
        uptime: { clock.now * 1_000_000 },
        random: { count in
          serial.add()
          return (0..<count).map { UInt8(truncatingIfNeeded: serial.value + $0) }
        },
        background: { _ in }, offload: InPlace(), log: { lines.append($0) }, zone: [], keys: BrokenStore(),
        ledger: BrokenStore(), debugTokens: BrokenStore(), accounts: BrokenAccounts.environment,
        isReady: { isReady },
        upstream: Handler { _ in HTTPResponse(status: 500) }))
  }

  func ask(
    _ method: HTTPMethod, _ target: String, _ fields: HTTPFields = [:], body: String = "",
    peer: String = "192.0.2.1"
  ) async throws -> HTTPResponse {
    try await server.handler.respond(
      to: HTTPRequest(method: method, target: target, fields: fields, body: HTTPBody(body), peer: peer))
  }
}
