import AppAttest
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import Stores
import Synchronization
import Testing

@testable import Server

@Suite("Apple's answers about receipts") struct ReceiptAnswerTests {
  static let day: Int64 = 86_400

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
      try await $0.execute("update device_receipts set next_refresh = 0", [])
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
}
