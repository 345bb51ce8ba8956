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
}
