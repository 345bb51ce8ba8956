import Admission
import AppAttest
import BramleyTesting
import SQL
import Stores
import System
import Testing

/// A batch looks at its challenges before it decides, and writes them with its commit.
@Suite("Challenges among nodes", .serialized, TestPostgres.required) struct NodeChallengeTests {
  private static let expiry = StoreFixture.epoch + 300

  private func row(_ number: Int) -> ConsumedChallenge {
    .row(random: StoreFixture.octets(number, 16), expiry: Self.expiry)
  }

  private func request(_ key: Int, _ counter: Int, _ challenge: ConsumedChallenge?) -> AdmissionRequest {
    Requests.assertion(
      key, counter: UInt32(counter), id: key * 1_000 + counter, charges: [Requests.daily(50)],
      challenge: challenge)
  }

  private func fixture() async throws -> NodeFixture {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 60_000)
    try await fixture.register(4)
    for key in 0..<4 { #expect(try await fixture.nodes[0].ledger.admit(request(key, 1, nil)).isAdmitted) }
    return fixture
  }

  @Test("RULES §1.4, §1.11: of several requests of one batch with one challenge, one passes")
  func batch() async throws {
    let fixture = try await fixture()
    let challenges = [row(1), row(1), row(2), row(1), .mint(0), .mint(0), .mint(1), .mint(0)]
    let decisions = try await fixture.inOneBatch(
      behind: request(0, 2, nil),
      challenges.enumerated().map { place, challenge in
        // Those with a row by several keys, the others by one.
        let request = request(place < 4 ? place % 2 : 2, 10 + place, challenge)
        return { try await $0.admit(request) }
      })
    let passed = zip(challenges, decisions).filter(\.1.isAdmitted).map(\.0)
    #expect(passed.count { $0 == row(1) } == 1)
    #expect(passed.count { $0 == row(2) } == 1)
    #expect(passed.count { $0 == .mint(0) } == 1)
    for decision in decisions where !decision.isAdmitted { #expect(decision.refusal == .challengeUsed) }
    // The second of the two, if it came before the first, is refused as well.
    #expect(
      try await fixture.number("select mints from token_mints") == 1 + (passed.contains(.mint(1)) ? 1 : 0))
  }

  @Test("RULES §1.4: a registration does not take a challenge that an admission has looked at")
  func registration() async throws {
    let fixture = try await fixture()
    let (first, second) = (fixture.nodes[0], fixture.nodes[1])
    let isHeld = Locked(false)
    async let held: Void = second.database.holding("select 1 from lines for update") {
      isHeld.withLock { $0 = true }
      try await waits(fixture, "%from lines l%")
      try await waits(fixture, "%pg_advisory_xact_lock(n)%")
    }
    while !isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
    async let decision = first.ledger.admit(request(0, 2, row(7)))
    try await waits(fixture, "%from lines l%")
    async let outcome = second.keys.register(
      StoreFixture.key(9), receipt: [1], challenge: StoreFixture.octets(7, 16), challengeExpiry: Self.expiry)
    #expect(try await decision.isAdmitted)
    #expect(try await outcome == .challengeUsed)
    try await held
    #expect(try await second.keys.key(StoreFixture.keyID(9)) == nil)
  }

  @Test("RULES §1.4: nor does an admission pass whose challenge somebody takes without waiting for it")
  func unlocked() async throws {
    let fixture = try await fixture()
    let random = StoreFixture.octets(7, 16)
    let (taken, key) = (random.map { hex($0) }.joined(), StoreFixture.keyID(3).map { hex($0) }.joined())
    let insertion = """
      insert into consumed_challenges (random, expiry, key_id)
      values ('\\x\(taken)', \(Self.expiry), '\\x\(key)') returning 1
      """
    let jobs = [request(1, 2, row(7)), request(2, 2, row(8)), request(3, 2, nil)].map {
      request -> @Sendable (SQLAdmissionLedger) async throws -> AdmissionDecision in
      { try await $0.admit(request) }
    }
    let (node, behind) = (fixture.nodes[1], request(0, 2, nil))
    async let decisions = fixture.inOneBatch(behind: behind, jobs)
    async let held: Void = node.database.holding(insertion) {
      // Until the batch has looked, and would write.
      try await waits(fixture, "insert into consumed_challenges%")
    }
    #expect(try await decisions.map(\.refusal) == [.challengeUsed, nil, nil])
    try await held
    #expect(try await fixture.sums("daily") == (4 + 1 + 2, 0))
  }

  private func hex(_ octet: UInt8) -> String { String(octet >> 4, radix: 16) + String(octet & 15, radix: 16) }

  private func waits(_ fixture: NodeFixture, _ query: String) async throws {
    let waiting = "from pg_stat_activity where wait_event_type = 'Lock' and query like '\(query)'"
    while try await fixture.number("select count(*) \(waiting)") == 0 {
      try await Task.sleep(for: .milliseconds(2))
    }
  }
}
