import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct QuotaTests {
  @Test("the day's quota ends calls until midnight, and says so in the way that stops official SDKs")
  func daily() async throws {
    let server = try await WholeServer { $0.quotas = [.init(name: "daily", subject: .key, limit: 2)] }
    let phone = try await server.phone()
    #expect(try await phone.ask().fields["ratelimit"]?.hasPrefix("\"daily\";r=1;t=") == true)
    #expect(try await phone.ask().fields["ratelimit"]?.hasPrefix("\"daily\";r=0;t=") == true)
    let refused = try await phone.ask()
    #expect(refused.status == 429)
    #expect(refused.fields["x-should-retry"] == "false")
    #expect(refused.fields["ratelimit-policy"] == "\"daily\";q=2;w=86400")
    let wait = try #require(refused.fields["retry-after"].flatMap { Int64($0) })
    #expect(wait == 43_200, "it is noon")
    let body = try await refused.json
    #expect(body["type"]?.string == "error")
    #expect(body["error"]?["type"]?.string == "rate_limit_error")
    #expect(body["error"]?["details"]?["error_code"]?.string == "quota_exceeded")
    #expect(server.upstreamRequests.values.count == 2)
    #expect(try await server.phone().ask().status == 200, "another key has its own")
    server.clock.advance(seconds: wait)
    #expect(try await phone.ask().status == 200)
  }

  @Test("RULES §5.1: a call counts against all its subjects, and or none")
  func subjects() async throws {
    let server = try await WholeServer {
      $0.quotas = [
        .init(name: "daily", subject: .key, limit: 10), .init(name: "address", subject: .address, limit: 2),
      ]
    }
    let phone = try await server.phone()
    let other = try await server.phone()
    #expect(try await phone.ask().status == 200)
    #expect(try await other.ask().status == 200)
    let refused = try await phone.ask()
    #expect(refused.fields["ratelimit"]?.contains("address") == true)
    #expect(try await Outcome(refused) == Outcome(429, "quota_exceeded"))
    #expect(try await server.remaining(phone, "daily") == 9, "nothing is counted where one refuses")
    var elsewhere = try await phone.sign(Phone.question())
    elsewhere.peer = "198.51.100.7"
    #expect(try await server.send(elsewhere).status == 200)
  }

  @Test("money is held before and settled after, and never overspent by calls at once")
  func budget() async throws {
    let server = try await WholeServer {
      // claude-haiku-4-5: 64 tokens of output cost 320 µ$, the question less than that.
      $0.budgets = [.init(name: "money", subject: .key, limit: 2_000_000_000)]
      $0.quotas = []
    }
    let phone = try await server.phone()
    var requests: [HTTPRequest] = []
    for _ in 0..<30 { requests.append(try await phone.sign(Phone.question())) }
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for request in requests {
        group.addTask {
          let response = try await server.send(request)
          _ = try await response.body.collect(upTo: 1 << 20)
          return response.status
        }
      }
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(statuses.contains(200) && statuses.contains(429))
    let spent = try await server.usage().map(\.cost).reduce(0, +)
    let left = try #require(try await server.remaining(phone, "money"))
    #expect(left == 2_000_000_000 - spent && left >= 0)
    var last = try await phone.ask()
    for _ in 0..<40 where last.status == 200 {
      _ = try await last.text
      last = try await phone.ask()
    }
    #expect(try await Outcome(last) == Outcome(429, "budget_exceeded"))
    #expect(last.fields["x-should-retry"] == "false")
    #expect(last.fields["ratelimit"] == nil, "what a call costs is the operator's affair")
  }

  @Test("too many at once, and again when one ended")
  func inFlight() async throws {
    let server = try await WholeServer { $0.inFlight = 2 }
    let phone = try await server.phone()
    let first = try await phone.ask(stream: true)
    let second = try await phone.ask(stream: true)
    let third = try await phone.ask(stream: true)
    #expect(third.fields["retry-after"] == "1")
    #expect(try await Outcome(third) == Outcome(429, "too_many_in_flight"))
    _ = try await first.body.collect(upTo: 1 << 20)
    #expect(try await phone.ask().status == 200, "the end of a stream frees its place before it is seen")
    if case .stream(let body, _) = second.body.content { body.cancel() }
    await server.background.drain()
    let fourth = try await phone.ask(stream: true)
    #expect(fourth.status == 200)
  }

  @Test("a device asks what is left without using any of it up")
  func ask() async throws {
    let server = try await WholeServer {
      $0.quotas = [
        .init(name: "daily", subject: .key, limit: 5), .init(name: "all", subject: .everyone, limit: 100),
      ]
    }
    let phone = try await server.phone()
    _ = try await phone.ask()
    for _ in 0..<2 {
      let question = try await phone.sign(HTTPRequest(method: .get, target: AttestTargets.quota))
      let response = try await server.send(question)
      #expect(response.status == 200 && response.fields["cache-control"] == "no-store")
      let answer = QuotaAnswer(body: try await response.body.collect(upTo: 1000))
      let midnight = server.clock.seconds + 43_200
      #expect(
        answer?.quotas == [QuotaState(name: "daily", limit: 5, remaining: 4, resetsAt: midnight)])
      #expect(try await Outcome(server.send(question)) == Outcome(401, "counter_replayed"))
    }
    let unsigned = HTTPRequest(method: .get, target: AttestTargets.quota)
    #expect(try await Outcome(server.send(unsigned)) == Outcome(401, "attestation_required"))
  }

  @Test(
    "RULES §5.1: a guest who rotates /64s within his /48 has the address's quota by the factor, money as well"
  )
  func rotation() async throws {
    let server = try await WholeServer {
      $0.anthropic?.policy = .none
      $0.ipv6SiteFactor = 3
      $0.quotas = [
        .init(name: "visitor", subject: .address, limit: 2),
        .init(name: "all", subject: .everyone, limit: 99),
      ]
    }
    func ask(_ address: String) async throws -> Int {
      var question = Phone.question()
      question.peer = address
      let response = try await server.send(question)
      _ = try await response.body.collect(upTo: 1 << 16)
      await server.background.drain()
      return response.status
    }
    var statuses: [Int] = []
    for number in 0..<12 { statuses.append(try await ask("2001:db8:9:\(number)::1")) }
    #expect(statuses == [Int](repeating: 200, count: 6) + [Int](repeating: 429, count: 6))
    for expected in [200, 200, 429] { #expect(try await ask("2001:db8:a:1::1") == expected) }
    for expected in [200, 200, 429] { #expect(try await ask("192.0.2.200") == expected) }
    server.clock.advance(seconds: 86_400)
    #expect(try await ask("2001:db8:9:77::1") == 200)
  }

  @Test("RULES §5.4: a burst is never given back")
  func burst() async throws {
    let server = try await WholeServer { $0.burst = .init(requests: 3, seconds: 30) }
    let phone = try await server.phone()
    for _ in 0..<3 { _ = try await phone.ask("[simulate: error 529]") }
    let refused = try await phone.ask()
    #expect(refused.fields["retry-after"] == "10")
    #expect(try await Outcome(refused) == Outcome(429, "rate_limited"))
    server.clock.advance(seconds: 10)
    #expect(try await phone.ask().status == 200)
  }

  @Test("RULES §1.7: a route that asks for nothing has a cap for everyone")
  func open() async throws {
    let server = try await WholeServer {
      $0.anthropic?.policy = .none
      $0.quotas = [
        .init(name: "all", subject: .everyone, limit: 2), .init(name: "daily", subject: .key, limit: 9),
      ]
    }
    #expect(try await server.send(Phone.question()).status == 200)
    #expect(try await server.phone().ask().status == 200)
    var third = Phone.question()
    third.peer = "198.51.100.77"
    let refused = try await server.send(third)
    #expect(try await Outcome(refused) == Outcome(429, "quota_exceeded"))
  }

  @Test("RULES §5.5: a live call's lease is renewed, a dead one is swept at its full hold")
  func leases() async throws {
    let server = try await WholeServer { $0.inFlight = 1 }
    let phone = try await server.phone()
    let stream = try await phone.ask("[simulate: tokens 60]", stream: true)
    guard case .stream(let body, _) = stream.body.content else { return }
    _ = try await body.next()
    let jobs = Dictionary(uniqueKeysWithValues: server.server.jobs.map { ($0.name, $0) })
    for _ in 0..<20 {
      server.clock.advance(seconds: 60)
      await jobs["renew_leases"]?.run()
      await jobs["sweep_reservations"]?.run()
    }
    #expect(try await server.usage().isEmpty, "it runs on, after twenty minutes")
    while try await body.next() != nil {}
    #expect(try await server.usage().first?.estimated == false)

    // A node that died holds on to nothing for longer than a lease.
    let place = Charge(subject: .everyone, rule: "place", amount: 1, limit: .inFlight(1))
    func other(_ id: UInt8) async throws -> AdmissionDecision {
      try await server.ledger.admit(
        AdmissionRequest(
          id: [UInt8](repeating: id, count: 16), evidence: .none,
          expectation: KeyExpectation(apps: [], anchors: []), now: server.clock.now, charges: [place],
          lease: LiveReservations.lease, address: "x"))
    }
    _ = try await other(1)
    #expect(try await other(2) == .refused(.inFlight(rule: "place")))
    server.clock.advance(seconds: 601)
    await jobs["sweep_reservations"]?.run()
    _ = try await other(3)
    #expect(server.server.metrics.swept.value == 1)
  }

  @Test("RULES §5.5: a clock that steps forward sweeps no live call of this process")
  func clockStep() async throws {
    let server = try await WholeServer { $0.inFlight = 1 }
    let phone = try await server.phone()
    let stream = try await phone.ask("[simulate: tokens 60]", stream: true)
    guard case .stream(let body, _) = stream.body.content else { return }
    _ = try await body.next()
    server.clock.advance(seconds: 7_200)
    for job in server.server.jobs where job.name == "sweep_reservations" { _ = await job.run() }
    #expect(server.server.metrics.swept.value == 0)
    while try await body.next() != nil {}
    let rows = try await server.usage()
    #expect(rows.count == 1)
    #expect(rows.first?.estimated == false)
  }

  @Test("RULES §5.6: a body that is sent slowly does not turn the burst's clock back")
  func slowBody() async throws {
    let server = try await WholeServer { $0.burst = .init(requests: 3, seconds: 30) }
    let phone = try await server.phone()
    var slow = try await phone.sign(Phone.question("slow"))
    let octets = try await slow.body.collect(upTo: 1 << 16)
    let statuses = Recorder<Int>()
    slow.body = HTTPBody(
      stream: SlowBody(octets) {
        server.clock.advance(seconds: 60)
        for _ in 0..<3 {
          let response = try await phone.ask()
          statuses.append(response.status)
        }
      }, length: octets.count)
    #expect(try await Outcome(server.send(slow)) == Outcome(429, "rate_limited"))
    #expect(statuses.values == [200, 200, 200])
    #expect(try await Outcome(phone.ask()) == Outcome(429, "rate_limited"))
  }
}

/// Octets that come after something else has happened.
private actor SlowBody: HTTPBodyStream {
  private var octets: [UInt8]?
  private let meanwhile: @Sendable () async throws -> Void

  init(_ octets: [UInt8], _ meanwhile: @escaping @Sendable () async throws -> Void) {
    self.octets = octets
    self.meanwhile = meanwhile
  }

  func next() async throws -> [UInt8]? {
    guard let octets else { return nil }
    self.octets = nil
    try await meanwhile()
    return octets
  }

  nonisolated func cancel() {}
}
