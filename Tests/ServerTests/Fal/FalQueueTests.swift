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

@Suite("fal's queue") struct FalQueueTests {
  private let price = WholeServer.falPrice

  @Test("RULES §5.7: a call is submitted, looked at, fetched; it is held, and settled once")
  func wholeWay() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let call = try await phone.submit("a cat")
    #expect(call.hasPrefix("/ai/fal/queue/fal-ai/flux/requests/"))
    #expect(try await server.booked() == (0, 0, price))
    #expect(try await phone.look(.get, call).status == 400, "still in progress")
    var states: [String] = []
    while states.last != "COMPLETED", states.count < 9 { states.append(try await phone.state(call)) }
    #expect(
      Set(states) == ["IN_PROGRESS", "COMPLETED"] || Set(states) == ["IN_QUEUE", "IN_PROGRESS", "COMPLETED"])
    // Settled before the app has the result, so that its next call finds room.
    #expect(try await server.openReservations() == 0)
    let result = try await phone.look(.get, call)
    #expect(result.status == 200)
    #expect(try await result.json["images"]?.elements?.count == 1)
    await server.attend(minutes: 3)
    #expect(try await phone.look(.get, call).status == 200, "as often as asked")
    #expect(try await phone.state(call) == "COMPLETED")
    #expect(try await server.booked() == (price, price, 0))
    #expect(server.falBill == price)
    let rows = try await server.usage()
    #expect(rows.count == 1 && rows[0].route == Phone.queue && rows[0].estimated == false)
  }

  @Test("RULES §5.7: the job settles without the app, and a second node's job finds nothing more")
  func job() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for _ in 0..<5 { _ = try await phone.submit("a cat") }
    #expect(try await server.booked().held == 5 * price)
    for _ in 0..<12 {
      server.clock.advance(milliseconds: 60_000)
      async let one = server.attend()
      async let other = server.attend()
      _ = await (one, other)
    }
    #expect(try await server.booked() == (5 * price, 5 * price, 0))
    #expect(server.falBill == 5 * price && server.fal.billing.billedCalls == 5)
    for outcome in ["submitted", "billed"] {
      #expect(
        server.server.metrics.text.contains("bramley_queued_calls_total{outcome=\"\(outcome)\"} 5"))
    }
    #expect(try await server.usage().count == 5)
  }

  @Test("RULES §5.7: to any other key, user or token there is no such call, whatever they ask")
  func strangers() async throws {
    let server = try await WholeServer()
    let (owner, stranger) = (try await server.phone(), try await server.phone())
    let call = try await owner.submit("a cat [simulate: wait 50]")
    let before = server.upstreamRequests.values.count
    let nobody = "/ai/fal/queue/fal-ai/flux/requests/00000000-0000-4000-8000-000000000000"
    for (method, suffix) in [(HTTPMethod.get, "/status"), (.get, ""), (.put, "/cancel")] {
      let theirs = try await stranger.look(method, call + suffix)
      let none = try await owner.look(method, nobody + suffix)
      #expect(theirs.status == 404 && none.status == 404)
      var (a, b) = (try await theirs.json["detail"]?.string, try await none.json["detail"]?.string)
      #expect(a == b && a != nil)
      let bare = HTTPRequest(method: method, target: call + suffix, peer: "192.0.2.1")
      #expect(try await Outcome(server.send(bare)) == Outcome(401, "attestation_required"))
      (a, b) = (nil, nil)
    }
    #expect(server.upstreamRequests.values.count == before, "fal was not asked")
    #expect(server.fal.billing.cancelled == 0)
    for odd in ["requests/..", "requests/%2e", "requests/", "requests/x/status", "requests/ÄÖ"] {
      #expect(try await owner.look(.get, "/ai/fal/queue/fal-ai/flux/" + odd).status == 404)
    }
    #expect(try await owner.look(.put, call + "/cancel").status == 202)
  }

  @Test("RULES §5.7: another user of the same phone does not get the call of the first")
  func users() async throws {
    let server = try await AccountServer()
    let phone = try await server.whole.phone()
    let (first, second) = (try await server.signUp(), try await server.signUp())
    func send(_ request: HTTPRequest, as session: ClientSession) async throws -> HTTPResponse {
      var request = request
      request.fields["authorization"] = "Bearer " + session.accessToken
      return try await server.whole.send(try await phone.sign(request))
    }
    let receipt = try await send(Phone.picture("a cat", target: Phone.queue), as: first)
    let url = try #require(try await receipt.json["status_url"]?.string)
    let status = HTTPRequest(
      method: .get, target: String(url.dropFirst(WholeServer.audience.count)), peer: "192.0.2.1")
    #expect(try await send(status, as: first).status == 202)
    #expect(try await send(status, as: second).status == 404)
    // The phone is the second's now.
    #expect(try await server.whole.send(try await phone.sign(status)).status == 404)
    #expect(try await send(status, as: first).status != 404)
  }

  @Test("RULES §5.7: taking a call back releases its money only where nobody had begun")
  func cancel() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let waiting = try await phone.submit("a [simulate: wait 50]")
    #expect(try await phone.look(.put, waiting + "/cancel").status == 202)
    #expect(try await server.booked() == (0, 0, 0))
    #expect(try await server.openReservations() == 0)
    #expect(server.fal.billing.cancelled == 1)
    #expect(try await phone.look(.put, waiting + "/cancel").status == 400)
    #expect(try await phone.look(.get, waiting).status == 404)

    let running = try await phone.submit("b [simulate: wait 9]")
    await server.fal.advance()
    let answer = try await phone.look(.put, running + "/cancel")
    #expect(answer.status == 202)
    #expect(try await answer.json["status"]?.string == "CANCELLATION_REQUESTED")
    #expect(try await server.booked().held == price)
    await server.fal.advance()
    await server.attend(minutes: 2)
    #expect(try await server.booked() == (price, price, 0))

    let over = try await phone.submit("c [simulate: wait 0]")
    await server.fal.advance()
    await server.fal.advance()
    let late = try await phone.look(.put, over + "/cancel")
    #expect(late.status == 400)
    #expect(try await late.json["status"]?.string == "ALREADY_COMPLETED")
    #expect(try await server.booked() == (2 * price, 2 * price, 0))
    #expect(server.falBill == 2 * price)
  }

  @Test("a call that begins between the look and the taking back is not released")
  func cancelRace() async throws {
    let inner = SimulatedUpstream()
    let server = try await WholeServer(upstream: { try await inner.respond(to: $0) })
    let phone = try await server.phone()
    let call = try await phone.submit("a [simulate: wait 9]")
    // It begins as the cancellation is on its way.
    inner.beforeCancel = { await inner.fal.advance() }
    #expect(try await phone.look(.put, call + "/cancel").status == 202)
    #expect(try await server.booked().held == price)
    await inner.fal.advance()
    await server.attend(minutes: 2)
    #expect(try await server.booked() == (price, price, 0))
    #expect(inner.fal.billing.billedCalls == 1 && inner.fal.billing.cancelled == 0)
  }

  @Test("many cancel, look and fetch at once, while the job runs: settled once, sums agree")
  func race() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    var calls: [String] = []
    for number in 0..<6 { calls.append(try await phone.submit("\(number) [simulate: wait 1]")) }
    for _ in 0..<6 {
      server.clock.advance(milliseconds: 60_000)
      await withTaskGroup { group in
        for (index, call) in calls.enumerated() {
          group.addTask { _ = try? await phone.look(.get, call + "/status") }
          group.addTask { _ = try? await phone.look(.get, call) }
          if index < 3 { group.addTask { _ = try? await phone.look(.put, call + "/cancel") } }
        }
        group.addTask { _ = await server.attend() }
      }
    }
    await server.attend(minutes: 5)
    let booked = try await server.booked()
    #expect(booked.rows == booked.line && booked.held == 0)
    #expect(booked.line == server.falBill)
    #expect(try await server.usage().count == 6)
    #expect(server.fal.billing.billedCalls + server.fal.billing.cancelled == 6)
    #expect(try await server.openReservations() == 0)
  }

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

  @Test("the call of a user who is deleted is nobody's, and is settled all the same")
  func deleted() async throws {
    let server = try await AccountServer()
    let phone = try await server.whole.phone()
    let session = try await server.signUp()
    var request = Phone.picture("a cat", target: Phone.queue)
    request.fields["authorization"] = "Bearer " + session.accessToken
    let receipt = try await server.whole.send(try await phone.sign(request))
    let url = try #require(try await receipt.json["response_url"]?.string)
    let id = try #require(UUID(session.userID))
    #expect(
      try await SQLUserStore(server.whole.database).delete(
        id, by: RequestOrigin(.command), now: server.whole.clock.now))
    let target = String(url.dropFirst(WholeServer.audience.count))
    #expect(try await phone.look(.get, target).status == 404)
    await server.whole.attend(minutes: 5)
    #expect(try await server.whole.booked() == (price, price, 0))
    #expect(try await server.whole.usage().first?.userID == nil)
  }

  @Test("killed between settling and noting it: the next look notes it, and books nothing more")
  func killed() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await phone.submit("a [simulate: wait 0]")
    await server.fal.advance()
    await server.fal.advance()
    let reservation = try #require(
      try await server.database.read { try $0.first("select id from reservations") { $0.bytes(0) } })
    #expect(
      try await server.ledger.settle(
        Settlement(
          id: reservation, outcome: .used(cost: price, tokens: 0, images: 1), now: server.clock.now)))
    await server.attend(minutes: 2)
    #expect(try await server.booked().line == price)
    let open = try await server.database.read {
      try $0.first("select count(*) from queued_calls where ended_at is null") { $0.int64(0) }
    }
    #expect(open == 0)
  }

  @Test("a call that cannot be kept is taken back, and booked as if it could not")
  func notKept() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    try await server.database.write { _ = try $0.execute("drop table queued_calls") }
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

  @Test("looks have a burst of their own, and end no quota; what runs holds a place")
  func limits() async throws {
    let server = try await WholeServer {
      $0.burst = .init(requests: 2, seconds: 60)
      $0.inFlight = 1
    }
    let phone = try await server.phone()
    let call = try await phone.submit("a [simulate: wait 1000]")
    #expect(
      try await Outcome(server.send(try await phone.sign(Phone.picture("b", target: Phone.queue))))
        == Outcome(429, "too_many_in_flight"))
    var refused = 0
    for _ in 0..<45 where try await phone.look(.get, call + "/status").status == 429 { refused += 1 }
    #expect(refused == 5)
    #expect(try await server.remaining(phone, "daily") == 99)
    server.clock.advance(milliseconds: 60_000)
    #expect(try await phone.look(.put, call + "/cancel").status == 202)
    #expect(try await phone.submit("b").isEmpty == false)
  }

  @Test("the URLs of a receipt are of the base that the client came by, and never of its Host alone")
  func bases() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for (host, base) in [
      ("api.example.com", WholeServer.audience), ("eu.example.com", "https://eu.example.com/base"),
      ("evil.example", WholeServer.audience), ("", WholeServer.audience),
    ] {
      var request = try await phone.sign(Phone.picture("a", target: Phone.queue))
      request.authority = host
      let receipt = try await server.send(request).json
      for url in ["response_url", "status_url", "cancel_url"] {
        #expect(receipt[url]?.string?.hasPrefix(base + "/ai/fal/queue/fal-ai/flux/requests/") == true)
      }
    }
  }

  @Test("a session token opens the queue as well; one without the route does not")
  func tokens() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try #require(try await phone.token().json["token"]?.string)
    func send(_ method: HTTPMethod, _ target: String, _ body: HTTPBody = .empty) async throws -> HTTPResponse
    {
      try await server.send(
        HTTPRequest(
          method: method, target: target,
          fields: ["authorization": "Key " + token, "content-type": "application/json"], body: body,
          peer: "192.0.2.1"))
    }
    let receipt = try await send(.post, Phone.queue, HTTPBody(#"{"prompt":"a"}"#))
    let url = try #require(try await receipt.json["status_url"]?.string)
    let target = String(url.dropFirst(WholeServer.audience.count))
    for query in ["?logs=False", "?logs=1", ""] {
      #expect(try await send(.get, target + query).status != 404)
    }
    #expect(try await send(.get, target + "?fal_webhook=x").status == 400)
    // Bought by the same key, so the phone itself may ask as well.
    #expect(try await phone.look(.get, target).status == 200)
  }
}
