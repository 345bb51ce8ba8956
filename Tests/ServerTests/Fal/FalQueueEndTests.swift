import Accounts
import Admission
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("How calls in fal's queue end") struct FalQueueEndTests {
  private let price = WholeServer.falPrice

  @Test(
    "the ends of calls: what fal bills, what is never billed, and the reserve where nobody knows",
    arguments: [
      ("error 500", 0, 502), ("error 422", 1, 422), ("lost", 1, 404), ("no usage", 1, 200),
      ("units 3", 3, 200),
      ("error 422] [simulate: units 1", 1, 422), ("gzip", 1, 502), ("drop after 1", 1, 502),
    ])
  func ends(_ instruction: String, _ units: Int64, _ status: Int) async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let call = try await phone.submit("[simulate: \(instruction)] [simulate: wait 0]")
    await server.attend(minutes: 15)
    if ["gzip", "drop after 1"].contains(instruction) {
      // Never a readable answer: given up before the lease ends.
      #expect(try await server.booked().held == price)
      server.clock.advance(milliseconds: 24 * 3_600_000)
      await server.attend()
    }
    #expect(try await server.booked() == (units * price, units * price, 0))
    #expect(try await server.booked().rows >= server.falBill)
    #expect(try await phone.look(.get, call).status == status)
    #expect(try await server.usage().count == 1)
    #expect(try await server.openReservations() == 0)
  }

  @Test("a lease of a day: no sweep takes it, and a day without an answer books the reserve once")
  func lease() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await phone.submit("[simulate: wait 1000000]")
    let sweep = try #require(server.server.jobs.first { $0.name == "sweep_reservations" })
    server.clock.advance(milliseconds: 23 * 3_600_000)
    await sweep.run()
    await server.attend()
    #expect(try await server.booked() == (0, 0, price))
    server.clock.advance(milliseconds: 50 * 60_000)
    await server.attend()
    await sweep.run()
    #expect(try await server.booked() == (price, price, 0))
    server.clock.advance(milliseconds: 3_600_000)
    await sweep.run()
    await server.attend()
    #expect(try await server.booked() == (price, price, 0))
    #expect(try await server.usage().map(\.model) == ["fal-ai/flux/schnell"])
  }

  @Test("after a restart, or on another node, the job goes on where the first one was")
  func restarted() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let call = try await phone.submit("a cat")
    // Another process: it knows what the database knows.
    let fal = server.fal
    let other = try await WholeServer(upstream: { try await fal.respond(to: $0) }, sharing: server)
    for _ in 0..<5 {
      server.clock.advance(milliseconds: 60_000)
      await other.attend()
    }
    #expect(try await server.booked() == (price, price, 0))
    let request = try await phone.sign(HTTPRequest(method: .get, target: call, peer: "192.0.2.1"))
    #expect(try await other.send(request).status == 200)
    await server.attend(minutes: 2)
    #expect(try await server.booked() == (price, price, 0))
  }

  @Test("killed between settling and noting it: the next look notes it, and books nothing more")
  func killed() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await phone.submit("a [simulate: wait 0]")
    await server.fal.advance()
    await server.fal.advance()
    let reservation = try #require(
      try await server.database.read { try await $0.first("select id from reservations") { $0.bytes(0) } })
    #expect(
      try await server.ledger.settle(
        Settlement(
          id: reservation, outcome: .used(cost: price, tokens: 0, images: 1), now: server.clock.now)))
    await server.attend(minutes: 2)
    #expect(try await server.booked().line == price)
    let open = try await server.database.read {
      try await $0.first("select count(*) from queued_calls where ended_at is null") { $0.int64(0) }
    }
    #expect(open == 0)
  }

  @Test("a call that cannot be kept is taken back, and booked as if it could not")
  func notKept() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    try await server.database.write { _ = try await $0.execute("drop table queued_calls") }
    let response = try await server.send(try await phone.sign(Phone.picture("a", target: Phone.queue)))
    #expect(try await Outcome(response) == Outcome(503, "unavailable"))
    #expect(try await server.booked() == (price, price, 0))
    #expect(server.fal.billing.cancelled == 1)
    #expect(try await server.openReservations() == 0)
  }

  @Test(
    "a submission that goes wrong",
    arguments: [
      ("error 401", Outcome(503, "upstream_failed"), 0), ("error 500", Outcome(502, "upstream_failed"), 0),
      ("error 429", Outcome(503, "upstream_busy"), 0), ("error 422", Outcome(422, "upstream_refused"), 1),
      ("nonsense", Outcome(502, "upstream_unavailable"), 1),
      ("path", Outcome(502, "upstream_unavailable"), 1),
      ("refused", Outcome(503, "upstream_failed"), 0), ("broken", Outcome(502, "upstream_failed"), 1),
      ("secret", Outcome(502, "upstream_failed"), 1),
    ])
  func submission(_ what: String, _ outcome: Outcome, _ units: Int64) async throws {
    let server = try await WholeServer(upstream: { _ in
      let json: HTTPFields = ["content-type": "application/json"]
      switch what {
      case "refused": throw HTTPClientError.connect
      case "broken": throw HTTPClientError.interrupted
      case "nonsense": return HTTPResponse(status: 200, fields: json, body: HTTPBody("{}"))
      case "path":
        return HTTPResponse(status: 200, fields: json, body: HTTPBody(#"{"request_id":"../../admin"}"#))
      case "secret":
        return HTTPResponse(
          status: 200, fields: json, body: HTTPBody("{\"request_id\":\"a\",\"x\":\"\(WholeServer.falKey)\"}"))
      default:
        return HTTPResponse(
          status: Int(what.dropFirst(6)) ?? 0, fields: json, body: HTTPBody(#"{"detail":"no"}"#))
      }
    })
    let phone = try await server.phone()
    let response = try await server.send(try await phone.sign(Phone.picture("a", target: Phone.queue)))
    #expect(try await Outcome(response) == outcome)
    #expect(try await server.booked() == (units * price, units * price, 0))
    #expect(try await server.openReservations() == 0)
    #expect(!server.lines.values.joined().contains(WholeServer.falKey))
  }
}
