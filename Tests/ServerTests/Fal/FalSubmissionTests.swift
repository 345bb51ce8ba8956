import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Synchronization
import Testing

@testable import Server

@Suite("Handing a call to fal's queue") struct FalSubmissionTests {
  private static let key = "8e03978e-40d5-43dd-bc93-6894a57f9324"
  private let price = WholeServer.falPrice

  private func submit(_ phone: Phone, _ prompt: String = "a cat", key: String? = key) async throws
    -> HTTPResponse
  {
    var request = Phone.picture(prompt, target: Phone.queue)
    request.fields["idempotency-key"] = key
    return try await phone.server.send(try await phone.sign(request))
  }

  private func submissions(_ server: WholeServer) -> Int {
    server.upstreamRequests.values.count { $0.method == .post }
  }

  @Test("RULES §5.8: a submission with an Idempotency-Key is made once, and a repeat gets the same call")
  func repeated() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let first = try await submit(phone).json["request_id"]?.string
    await server.background.drain()
    let second = try await submit(phone)
    #expect(second.fields["idempotency-replayed"] == "true")
    let id = try await second.json["request_id"]?.string
    #expect(id != nil && id == first)
    #expect(try await Outcome(submit(phone, "a dog")) == Outcome(422, "idempotency_mismatch"))
    #expect(submissions(server) == 1)
    #expect(try await server.booked() == (0, 0, price))
    #expect(try await server.remaining(phone, "daily") == 99)
    #expect(try await submit(phone, key: nil).status == 200 && submissions(server) == 2)
    await server.attend(minutes: 12)
    #expect(try await server.booked() == (2 * price, 2 * price, 0))
    #expect(server.falBill == 2 * price)
  }

  @Test(
    "RULES §5.8: whoever leaves before the receipt finds the call when it comes back; without a key it is booked"
  )
  func leaves() async throws {
    let isShut = Mutex(true)
    let server = try await WholeServer(
      upstream: { request in
        while request.method == .post, isShut.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
        return nil
      }, sleep: { try await Task.sleep(for: $0 == Idempotency.patience ? .seconds(600) : .milliseconds(1)) })
    let phone = try await server.phone()
    func leave(_ key: String?) async throws {
      isShut.withLock { $0 = true }
      let before = submissions(server)
      await withTaskGroup(of: Void.self) { group in
        group.addTask { _ = try? await submit(phone, key: key) }
        while submissions(server) == before { try? await Task.sleep(for: .milliseconds(1)) }
        group.cancelAll()
      }
      isShut.withLock { $0 = false }
      await server.background.drain()
    }
    try await leave(Self.key)
    let back = try await submit(phone)
    #expect(back.status == 200 && back.fields["idempotency-replayed"] == "true")
    #expect(submissions(server) == 1)
    #expect(try await server.booked() == (0, 0, price))
    try await leave(nil)
    #expect(try await server.booked() == (price, price, price), "nobody can ask for it")
  }

  @Test(
    "RULES §5.8: a receipt that a dead server did not give is had by asking again, while its lease lasts and after"
  )
  func diedBeforeReceipt() async throws {
    let server = try await WholeServer()
    let (phone, stranger) = (try await server.phone(), try await server.phone())
    let first = try await submit(phone).json["request_id"]?.string
    await server.background.drain()
    let until = server.clock.now + Idempotency.lease
    try await server.database.write { transaction in
      _ = try await transaction.execute(
        "update kept_answers set state = 0, sealed = null, leased_until = $1", [.integer(until)])
    }
    for _ in 0..<2 {
      let again = try await submit(phone)
      #expect(again.fields["idempotency-replayed"] == "true")
      #expect(try await again.json["request_id"]?.string == first)
      server.clock.advance(milliseconds: Idempotency.lease + 1)
    }
    #expect(submissions(server) == 1)
    #expect(try await server.booked() == (0, 0, price))
    // The same key is another request where another phone asks.
    #expect(try await submit(stranger).json["request_id"]?.string != first)
    #expect(submissions(server) == 2)
  }

  @Test(
    "RULES §5.8: a submission that cost nothing is forgotten, one that may have cost something is incomplete")
  func failed() async throws {
    let errors = Mutex<[HTTPClientError?]>([.connect, .connect, nil, .interrupted])
    let server = try await WholeServer(upstream: { _ in
      if let error = errors.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
      return nil
    })
    let phone = try await server.phone()
    // Tried twice, since nothing was written.
    #expect(try await submit(phone).status == 503)
    await server.background.drain()
    #expect(try await submit(phone).status == 200)
    await server.background.drain()
    #expect(try await submit(phone, key: Self.key + "-2").status == 502)
    await server.background.drain()
    #expect(
      try await Outcome(submit(phone, key: Self.key + "-2")) == Outcome(422, "idempotency_incomplete"))
    #expect(try await server.booked() == (price, price, price))
  }

  @Test(
    "RULES §5.7: a server that dies before fal's receipt holds the phone's place for minutes, not for a day")
  func died() async throws {
    let server = try await WholeServer(
      { $0.inFlight = 1 },
      upstream: { request in
        guard request.authority == "queue.fal.run" else { return nil }
        try await Task.sleep(for: .seconds(600))
        throw HTTPClientError.timedOut(.head)
      })
    let phone = try await server.phone()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = try? await submit(phone, key: nil) }
      while submissions(server) == 0 { try await Task.sleep(for: .milliseconds(2)) }
      #expect(try await Outcome(submit(phone, key: nil)) == Outcome(429, "too_many_in_flight"))
      // The dead renew nothing.
      server.clock.advance(milliseconds: LiveReservations.lease + 1)
      #expect(try await server.ledger.sweep(now: server.clock.now) == 1)
      #expect(try await server.booked() == (price, price, 0))
      #expect(try await phone.ask().status == 200)
      group.cancelAll()
    }
    // Whatever the dead say later is booked no second time.
    #expect(try await server.usage().count { $0.provider != "anthropic" } == 1)
    #expect(try await server.openReservations() == 0)
  }

  @Test(
    "RULES §5.7: a call that fal has is held for as long as the queue may take, also where its server died at once"
  )
  func held() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await submit(phone, "a [simulate: wait 500]", key: nil)
    server.clock.advance(milliseconds: LiveReservations.lease + 60_000)
    #expect(try await server.ledger.sweep(now: server.clock.now) == 0)
    // As a server leaves it that died between the row and the hold.
    _ = try await submit(phone, "b [simulate: wait 30]", key: nil)
    let lease = server.clock.now + LiveReservations.lease
    try await server.database.write { transaction in
      _ = try await transaction.execute(
        "update reservations set lease = $1 where id = (select max(id) from reservations)", [.integer(lease)])
    }
    for _ in 0..<40 {
      await server.attend(minutes: 1)
      #expect(try await server.ledger.sweep(now: server.clock.now) == 0)
    }
    await server.attend(minutes: 40)
    let rows = try await server.usage()
    #expect(rows.map(\.cost) == [price] && rows.map(\.units) == [1_000_000] && rows.map(\.images) == [1])
    #expect(try await server.booked() == (price, price, price))
  }
}
