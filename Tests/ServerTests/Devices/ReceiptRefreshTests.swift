import AppAttest
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Refreshing receipts") struct ReceiptRefreshTests {
  static let day: Int64 = 86_400

  @Test("RULES §1.10: a first receipt is exchanged within a minute, and the metric is kept with the key")
  func first() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    #expect(try await server.metric(phone) == nil)
    // The job runs every 15 seconds.
    server.clock.advance(seconds: 15)
    #expect(try await server.refresh())
    #expect(try await server.metric(phone) == 1)
    #expect(server.outcomes == ["refreshed": 1])
    let request = try #require(server.asked.first)
    #expect(request.target == "/receipts/production/v1/attestationData")
    #expect(request.fields["authorization"]?.split(separator: ".").count == 3)
    #expect(try await server.refresh())
    #expect(server.asked.count == 1)
  }

  @Test("A used key's receipt is refreshed after its days, a week by default; an unused one's is not")
  func refreshed() async throws {
    let server = try await DeviceServer()
    let (used, unused) = (try await server.whole.phone(), try await server.whole.phone())
    try await server.refresh()
    #expect(try await server.wait(used).map { (7 * Self.day...8 * Self.day).contains($0) } == true)
    await server.whole.devices.setRisk(9, of: used.device.deviceID)
    for _ in 0..<20 {
      server.clock.advance(seconds: Self.day)
      _ = try await used.ask()
      try await server.refresh()
    }
    #expect(try await server.metric(used) == 9)
    #expect(try await server.metric(unused) == 1)
    #expect(
      try await server.column("r.fetched_at", used).map { server.clock.seconds - $0 < 8 * Self.day } == true)
    // Neither was asked for more often than its days allow: the first time, and twice or thrice since.
    #expect((4...7).contains(server.asked.count))
    #expect(server.outcomes.keys.sorted() == ["refreshed"])
  }

  @Test("The order is the day, at most: with refresh_days 1 Apple never says that it is too early")
  func daily() async throws {
    let server = try await DeviceServer { $0.attest.receipts.refreshDays = 1 }
    let phone = try await server.whole.phone()
    for _ in 0..<(5 * 24) {
      try await server.refresh()
      server.clock.advance(seconds: 3_600)
    }
    #expect(server.outcomes.keys.sorted() == ["refreshed"])
    #expect((4...6).contains(server.outcomes["refreshed"] ?? 0))
    #expect(try await server.metric(phone) == 1)
  }

  @Test("RULES §1.10: a revoked and a banned key are not asked about")
  func ended() async throws {
    let server = try await DeviceServer()
    let (revoked, banned) = (try await server.whole.phone(), try await server.whole.phone())
    _ = try await server.whole.keys.revoke(revoked.key)
    _ = try await server.whole.keys.setBanned(true, banned.key)
    try await server.refresh()
    #expect(server.asked.isEmpty)
    #expect(try await server.wait(revoked) == nil)
    #expect(try await server.wait(banned) == Self.day)
  }

  @Test("A key that is revoked while Apple is asked stays revoked, and is not asked about again")
  func revokedMeanwhile() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    let store = server.store
    let demand = ReceiptDemand(
      now: server.clock.seconds, retryAt: server.clock.seconds + 120, activeSince: 0, idleUntil: .max,
      limit: 1)
    let stored = try #require(try await store.due(demand).first)
    _ = try await server.whole.keys.revoke(phone.key)
    _ = try await store.keep(
      RefreshedReceipt(bytes: [1], riskMetric: 4, nextRefresh: server.clock.seconds + 5), for: stored,
      now: server.clock.seconds)
    server.clock.advance(seconds: 600)
    try await server.refresh()
    #expect(server.asked.isEmpty)
    #expect(try await server.wait(phone) == nil)
  }

  /// An answer of Apple's and what follows from it.
  struct Case: CustomTestStringConvertible, Sendable {
    let status: Int
    var body = ""
    var fields: HTTPFields = [:]
    let outcome: String
    /// In how many seconds the receipt is asked for again.
    let wait: ClosedRange<Int64>
    var alarms = 0
    /// For how long nobody is asked.
    var pause: Int64 = 0
    var testDescription: String { "\(status) \(body.prefix(30))" }
  }

  static let cases = [
    Case(status: 304, outcome: "too_early", wait: 3_600...4_500),
    Case(status: 400, body: "Bad Payload", outcome: "not_taken", wait: day...(day + day / 4)),
    Case(
      status: 400, body: "Incorrect Environment", outcome: "other_environment", wait: day...(day + day / 4)),
    Case(
      status: 401, body: "Unable to verify", outcome: "credentials", wait: 900...900, alarms: 1, pause: 900),
    Case(status: 403, outcome: "credentials", wait: 900...900, alarms: 1, pause: 900),
    Case(status: 404, outcome: "unknown_key", wait: day...(day + day / 4)),
    Case(status: 413, outcome: "not_taken", wait: day...(day + day / 4)),
    Case(status: 429, outcome: "too_many", wait: 60...60, pause: 60),
    Case(status: 429, fields: ["retry-after": "120"], outcome: "too_many", wait: 120...120, pause: 120),
    Case(status: 429, fields: ["retry-after": "-5"], outcome: "too_many", wait: 60...60, pause: 60),
    Case(
      status: 429, fields: ["retry-after": "99999999999999"], outcome: "too_many", wait: day...day, pause: day
    ),
    Case(status: 500, outcome: "retryable", wait: 30...40),
    Case(status: 503, body: "<html>", outcome: "retryable", wait: 30...40),
    Case(status: 302, fields: ["location": "https://x.example"], outcome: "retryable", wait: 30...40),
    Case(status: 200, outcome: "retryable", wait: 30...40),
    Case(status: 200, body: "<html>hello</html>", outcome: "retryable", wait: 30...40),
    Case(status: 200, body: "AAAA", outcome: "invalid", wait: 3_600...4_500),
    Case(status: 200, body: "MIAGCSqGSIb3DQEHAqCA", outcome: "invalid", wait: 3_600...4_500),
    Case(status: 200, body: String(repeating: "A", count: 100_000), outcome: "no_answer", wait: 30...40),
  ]

  @Test(
    "Each answer of Apple's that is no receipt leaves the key as it is, and says when to ask again",
    arguments: cases)
  func answers(_ answer: Case) async throws {
    let server = try await DeviceServer(apple: { _ in
      HTTPResponse(status: answer.status, fields: answer.fields, body: HTTPBody(answer.body))
    })
    let phone = try await server.whole.phone()
    let receipt = try await server.receipt(phone)
    try await server.refresh()
    #expect(server.outcomes == [answer.outcome: 1])
    #expect(server.alarms == answer.alarms)
    let wait = try #require(try await server.wait(phone))
    #expect(answer.wait.contains(wait), "\(wait)")
    #expect(try await server.metric(phone) == nil)
    #expect(try await server.receipt(phone) == receipt)
    #expect(try await phone.ask().status == 200)
    // Whoever registers now waits with the others, while there is a pause.
    let other = try await server.whole.phone()
    try await server.refresh()
    #expect(server.asked.count == (answer.pause > 0 ? 1 : 2))
    server.clock.advance(seconds: answer.pause)
    try await server.refresh()
    #expect(server.asked.count >= 2)
    _ = other
  }

  @Test("No answer at all is tried again, more and more seldom; the key goes on")
  func silence() async throws {
    let server = try await DeviceServer(apple: { _ in throw HTTPClientError.connect })
    let phone = try await server.whole.phone()
    var waits: [Int64] = []
    for _ in 0..<12 {
      try await server.refresh()
      let wait = try #require(try await server.wait(phone))
      waits.append(wait)
      server.clock.advance(seconds: wait)
    }
    #expect(waits.first.map { (30...40).contains($0) } == true)
    #expect(zip(waits, waits.dropFirst()).filter { $0 > $1 + $1 / 4 }.isEmpty)
    #expect(waits.allSatisfy { $0 <= 6 * 3_600 + 6 * 3_600 / 4 })
    #expect((waits.last ?? 0) >= 6 * 3_600)
    #expect(try await phone.ask().status == 200)
  }

  @Test("While Apple is out, a few are asked about and the others wait untouched")
  func outage() async throws {
    let server = try await DeviceServer { $0.attest.receipts.perMinute = 6 }
    var phones: [Phone] = []
    for _ in 0..<8 { phones.append(try await server.whole.phone()) }
    await server.whole.devices.fail(.receipts, times: .max) { HTTPResponse(status: 503) }
    try await server.refresh()
    #expect(server.asked.count == 3)
    try await server.refresh()
    #expect(server.asked.count == 3)
    await server.whole.devices.fail(.receipts, times: 0) { HTTPResponse(status: 503) }
    server.clock.advance(seconds: 180)
    try await server.refresh()
    for phone in phones { #expect(try await server.metric(phone) == 1) }
  }

  @Test("The expired receipt of a key that was long unused is not sent, and never again")
  func expired() async throws {
    let server = try await DeviceServer(apple: { _ in HTTPResponse(status: 404) })
    let phone = try await server.whole.phone()
    for _ in 0..<100 {
      _ = try await phone.ask()
      try await server.refresh()
      server.clock.advance(seconds: Self.day)
    }
    #expect(try await server.wait(phone) == nil)
    // Backed off: in 90 days no more than once a day in the beginning, and twice a month in the end.
    #expect((5...20).contains(server.asked.count))
  }

  @Test("Clocks that jump: ahead, nothing is lost; back, everything is due again")
  func clocks() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    try await server.refresh()
    server.clock.advance(seconds: 2 * 365 * Self.day)
    _ = try await phone.ask()
    try await server.refresh()
    server.clock.advance(seconds: -2 * 365 * Self.day)
    await server.whole.devices.setRisk(5, of: phone.device.deviceID)
    for _ in 0..<12 {
      server.clock.advance(seconds: Self.day)
      _ = try await phone.ask()
      try await server.refresh()
    }
    #expect(try await phone.ask().status == 200)
    #expect(server.alarms == 0)
  }

  @Test("Killed between Apple's answer and the store: the old receipt is sent again, and no key is lost")
  func killed() async throws {
    let server = try await DeviceServer()
    let phone = try await server.whole.phone()
    // Another process took it, was answered, and died.
    let now = server.clock.seconds
    let due = try await server.store.due(
      ReceiptDemand(now: now, retryAt: now + 120, activeSince: 0, idleUntil: now + Self.day, limit: 10))
    #expect(due.count == 1)
    try await server.refresh()
    #expect(server.asked.isEmpty)
    server.clock.advance(seconds: 120)
    try await server.refresh()
    #expect(try await server.metric(phone) == 1)
  }

  @Test("Two nodes on one database: every receipt is exchanged once")
  func nodes() async throws {
    let server = try await DeviceServer()
    var phones: [Phone] = []
    for _ in 0..<40 { phones.append(try await server.whole.phone()) }
    try await withThrowingTaskGroup { group in
      for _ in 0..<2 { group.addTask { _ = try await server.refresh() } }
      try await group.waitForAll()
    }
    #expect(server.asked.count == 40)
    #expect(server.outcomes == ["refreshed": 40])
    for phone in phones { #expect(try await server.metric(phone) == 1) }
  }

  @Test("Another key's receipt, the same one again and an older one are refused, and say so")
  func wrong() async throws {
    let answers = Recorder<String>()
    let server = try await DeviceServer(apple: { _ in
      HTTPResponse(status: 200, body: HTTPBody(answers.values.last ?? ""))
    })
    let (phone, other) = (try await server.whole.phone(), try await server.whole.phone())
    let real = server.whole.devices
    let exchange = ReceiptExchange(
      services: AppleServices(below: .init(authority: "a")),
      verifier: ReceiptVerifier(anchors: server.whole.server.configuration.attest.anchors.receipt))
    let key = AppleServiceKey(
      teamID: server.whole.teamKey.teamID, keyID: server.whole.teamKey.keyID,
      key: try .init(pem: server.whole.teamKey.p8))
    func fresh(_ phone: Phone) async throws -> String {
      let device = try #require(try await server.whole.keys.key(phone.key))
      let stored = StoredReceipt(
        id: 1, key: device, receipt: try await server.receipt(phone), fetchedAt: nil, failures: 0)
      let response = try await real.respond(
        to: exchange.request(stored, token: try key.token(now: server.clock.seconds)))
      return String(decoding: try await response.body.collect(upTo: 1 << 17), as: UTF8.self)
    }
    let foreign = try await fresh(other)
    answers.append(foreign)
    try await server.refresh()
    // It is the other's own, and a foreign one for the first.
    #expect(server.outcomes == ["refreshed": 1, "invalid": 1])
    #expect(try await server.metric(phone) == nil)
    #expect(server.whole.lines.values.contains { $0.contains("about another key") })
    // The first receipt of an attestation is none from the endpoint.
    answers.append(Base64.encode(try await server.receipt(phone)))
    try await makeDue(server)
    try await server.refresh()
    #expect(try await server.metric(phone) == nil)
    #expect(server.outcomes == ["refreshed": 1, "invalid": 3])
    // The other's own once more.
    answers.append(foreign)
    try await makeDue(server)
    try await server.refresh()
    #expect(server.outcomes == ["refreshed": 1, "invalid": 4, "not_newer": 1])
    #expect(try await server.metric(phone) == nil)
  }

  private func makeDue(_ server: DeviceServer) async throws {
    _ = try await server.whole.database.write {
      try $0.execute("update device_receipts set next_refresh = 0", [])
    }
  }

  @Test("A wrong key of the team calls the operator, and costs one question in a quarter of an hour")
  func credentials() async throws {
    let server = try await DeviceServer {
      $0.attest.appleKey?.teamID = "OTHERTEAM1"
    }
    for _ in 0..<3 { _ = try await server.whole.phone() }
    for _ in 0..<8 {
      try await server.refresh()
      server.clock.advance(seconds: 100)
    }
    #expect(server.alarms >= 1)
    #expect(server.asked.count <= 3)
    #expect(server.whole.lines.values.contains { $0.contains("apple_key_refused") })
    for line in server.whole.lines.values { #expect(!line.contains("PRIVATE") && !line.contains("eyJ")) }
  }

  @Test("Without a key of Apple's nothing is asked, and no job is there")
  func unconfigured() async throws {
    let server = try await WholeServer()
    _ = try await server.phone()
    #expect(!server.server.jobs.contains { $0.name == "refresh_receipts" })
    #expect(server.deviceRequests.values.isEmpty)
  }
}
