import Admission
import AppAttest
import SQL
import Stores
import Testing

@Suite("Session and debug tokens on a database") struct TokenContractTests {
  private let route = "/ai/anthropic/v1/messages"

  private func issue(
    _ fixture: StoreFixture, _ number: Int, expiry: Int64 = StoreFixture.epoch + 600, charges: [Charge] = [],
    now: Int64 = Requests.now
  ) async throws -> AdmissionDecision {
    let token = SessionToken(
      hash: StoreFixture.octets(number, 32), routes: ["/ai/x", route], expiry: expiry)
    let challenge = ConsumedChallenge.row(
      random: StoreFixture.octets(number, 16), expiry: StoreFixture.epoch + 300)
    let request = Requests.assertion(
      0, counter: UInt32(number), id: number, charges: charges, now: now, challenge: challenge)
    return try await fixture.ledger.issueSession(request, token: token, atMost: 2)
  }

  private func use(
    _ fixture: StoreFixture, _ number: Int, route: String? = nil, charges: [Charge] = [],
    now: Int64 = Requests.now
  ) async throws -> AdmissionDecision {
    let evidence = AdmissionRequest.Evidence.session(
      tokenHash: StoreFixture.octets(number, 32), route: route ?? self.route)
    return try await fixture.ledger.admit(
      Requests.make(evidence, id: 5_000 + number, charges: charges, now: now, lease: nil))
  }

  @Test("RULES §1.8: two live tokens a key; a third ends the oldest", arguments: Backend.allCases)
  func atMostTwo(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    for number in 1...3 { #expect(try await issue(fixture, number).isAdmitted) }
    #expect(try await use(fixture, 1).refusal == .invalidToken)
    #expect(try await use(fixture, 2).isAdmitted)
    #expect(try await use(fixture, 3).isAdmitted)
  }

  @Test(
    "RULES §1.8: a token opens its routes until it expires, and counts for its key",
    arguments: Backend.allCases)
  func bounds(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    #expect(try await issue(fixture, 1, charges: [Requests.daily(3)]).isAdmitted)
    #expect(try await use(fixture, 1, route: "/ai/anthropic/v1/other").refusal == .invalidToken)
    let at = (StoreFixture.epoch + 600) * 1_000
    #expect(try await use(fixture, 1, now: at - 1).isAdmitted)
    #expect(try await use(fixture, 1, now: at).refusal == .invalidToken)
    #expect(try await use(fixture, 2).refusal == .invalidToken)
    guard case .admitted(let admitted) = try await use(fixture, 1, charges: [Requests.daily(3)]) else {
      Issue.record()
      return
    }
    #expect(admitted.keyID == StoreFixture.keyID(0))
    #expect(admitted.remaining.map(\.remaining) == [1])
  }

  @Test("RULES §1.8: revocation and ban act on live tokens at once", arguments: Backend.allCases)
  func revocation(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    #expect(try await issue(fixture, 1).isAdmitted)
    _ = try await fixture.keys.setBanned(true, StoreFixture.keyID(0))
    #expect(try await use(fixture, 1).refusal == .banned)
    _ = try await fixture.keys.setBanned(false, StoreFixture.keyID(0))
    #expect(try await use(fixture, 1).isAdmitted)
    _ = try await fixture.keys.revoke(StoreFixture.keyID(0))
    #expect(try await use(fixture, 1).refusal == .invalidToken)
  }

  @Test("A refused exchange keeps no token, and its challenge is used", arguments: Backend.allCases)
  func refused(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    #expect(try await !issue(fixture, 1, charges: [Requests.daily(0)]).isAdmitted)
    #expect(try await use(fixture, 1).refusal == .invalidToken)
    #expect(try await issue(fixture, 1).refusal == .counterReplayed)
  }

  @Test("Expired tokens are swept", arguments: Backend.allCases)
  func swept(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    _ = try await issue(fixture, 1, expiry: StoreFixture.epoch + 10)
    _ = try await issue(fixture, 2, expiry: StoreFixture.epoch + 20)
    _ = try await fixture.ledger.sweep(now: (StoreFixture.epoch + 10) * 1_000)
    let rows = try await fixture.database.read {
      try await $0.rows("select expiry from session_tokens") { $0.int64(0) }
    }
    #expect(rows == [StoreFixture.epoch + 20])
  }

  @Test("Debug tokens have a name, an end and a quota of their own", arguments: Backend.allCases)
  func debugTokens(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let (hash, expiry) = (StoreFixture.octets(1, 32), StoreFixture.epoch + 100)
    func create(_ name: String, _ hash: [UInt8]) async throws -> Bool {
      try await fixture.debugTokens.createDebugToken(
        name: name, hash: hash, expiry: expiry, now: StoreFixture.epoch)
    }
    func use(_ hash: [UInt8], now: Int64 = Requests.now) async throws -> AdmissionDecision {
      try await fixture.ledger.admit(
        Requests.make(
          .debugToken(tokenHash: hash), id: 1, charges: [Requests.daily(2), Requests.daily(0, .app)],
          now: now,
          lease: nil))
    }
    #expect(try await create("ci", hash))
    #expect(try await !create("ci", StoreFixture.octets(2, 32)))
    #expect(try await use(StoreFixture.octets(2, 32)).refusal == .invalidToken)
    #expect(try await use(hash, now: expiry * 1_000).refusal == .invalidToken)
    #expect(try await use(hash).isAdmitted)
    #expect(try await use(hash).isAdmitted)
    #expect(try await !use(hash).isAdmitted)
    let list = try await fixture.debugTokens.debugTokens()
    #expect(list.map(\.name) == ["ci"])
    #expect(list.map(\.expiry) == [expiry])
    #expect(list.map(\.lastUse) == [StoreFixture.epoch])
    #expect(try await fixture.debugTokens.revokeDebugToken(name: "ci"))
    #expect(try await !fixture.debugTokens.revokeDebugToken(name: "ci"))
    #expect(try await use(hash).refusal == .invalidToken)
  }
}
