import Admission
import BramleyTesting
import SQL
import Stores
import System
import Testing

@Suite("Round trips of the ledger on PostgreSQL", .serialized, TestPostgres.required)
struct NodeRoundTripTests {
  private static let charges = [
    Requests.running(1_000), Requests.burst(every: 1, 1_000), Requests.daily(1_000),
    Requests.daily(1_000, .user), Requests.money(40, of: 1 << 40, .everyone),
    Requests.daily(1_000, .address("192.0.2.7")),
  ]

  private func request(_ key: Int, _ round: Int, user: String? = nil) -> AdmissionRequest {
    var request = Requests.assertion(
      key, counter: UInt32(round), id: key * 1_000 + round, charges: Self.charges)
    request.user = user.map { KeyUser(id: $0, changes: [Requests.daily(3)]) }
    return request
  }

  /// What it costs.
  private func cost(
    _ node: NodeFixture.Node, _ work: () async throws -> Void
  ) async throws -> PostgresTraffic.Counts {
    let before = try #require(node.database.traffic?.counts)
    try await work()
    let after = try #require(node.database.traffic?.counts)
    return PostgresTraffic.Counts(
      roundTrips: after.roundTrips - before.roundTrips, syncs: after.syncs - before.syncs)
  }

  private let two = PostgresTraffic.Counts(roundTrips: 2, syncs: 1)

  @Test("a warm admission, and what ends it on its node: two round trips and one Sync")
  func one() async throws {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 60_000)
    try await fixture.register(1)
    let (node, other) = (fixture.nodes[0], fixture.nodes[1])
    for round in 1...4 {
      #expect(try await node.ledger.admit(request(0, round, user: "a")).isAdmitted)
    }
    let admitted = try await cost(node) {
      let isSo = try await node.ledger.admit(request(0, 5)).isAdmitted
      #expect(isSo)
    }
    #expect(admitted == two)
    let replayed = try await cost(node) {
      let isSo = try await node.ledger.admit(request(0, 5)).refusal == .counterReplayed
      #expect(isSo)
    }
    #expect(replayed == two)
    let renewed = try await cost(node) {
      let isSo = try await node.ledger.renew(request(0, 5).id, for: 90_000, now: Requests.now)
      #expect(isSo)
    }
    #expect(renewed == two)
    let settled = try await cost(node) {
      let isSo = try await node.ledger.settle(
        Settlement(id: request(0, 5).id, outcome: .used(cost: 25), now: Requests.now))
      #expect(isSo)
    }
    #expect(settled == two)
    let spared = try await cost(node) {
      let isSo = try await node.ledger.settle(
        Settlement(
          id: request(0, 3).id, outcome: .used(cost: 25), now: Requests.now, sparing: ["daily"]))
      #expect(isSo)
    }
    #expect(spared == two)
    // Another node has to see first whose lines they are.
    let elsewhere = try await cost(other) {
      let isSo = try await other.ledger.settle(
        Settlement(id: request(0, 4).id, outcome: .used(cost: 25), now: Requests.now))
      #expect(isSo)
    }
    #expect(elsewhere.syncs == 1)
    #expect(elsewhere.roundTrips > 2)
    #expect(try await fixture.sums("budget") == (75, 80))
    #expect(try await fixture.sums("running") == (0, 2))
    // Three rows of five requests, less those that one was spared.
    #expect(try await fixture.sums("daily") == (12, 0))
  }

  @Test("a warm exchange of a challenge for a token: two round trips and one Sync, also where it is refused")
  func exchange() async throws {
    let fixture = try await NodeFixture(nodes: 1, statementTimeout: 60_000)
    try await fixture.register(1)
    let node = fixture.nodes[0]
    func buy(_ counter: Int, _ challenge: ConsumedChallenge) async throws -> AdmissionRefusal? {
      let token = SessionToken(
        hash: StoreFixture.octets(counter, 32), routes: ["r"], expiry: StoreFixture.epoch + 600)
      let request = Requests.assertion(
        0, counter: UInt32(counter), id: counter, charges: Self.charges, challenge: challenge)
      return try await node.ledger.issueSession(request, token: token, atMost: 2).refusal
    }
    func row(_ number: Int) -> ConsumedChallenge {
      .row(random: StoreFixture.octets(number, 16), expiry: StoreFixture.epoch + 300)
    }
    for (counter, challenge) in [row(1), row(2), .mint(0), .mint(1)].enumerated() {
      #expect(try await buy(counter + 1, challenge) == nil)
    }
    for (counter, (challenge, refusal)) in [
      (row(3), nil), (row(3), AdmissionRefusal.challengeUsed), (.mint(2), nil), (.mint(2), .challengeUsed),
    ].enumerated() {
      let bought = try await cost(node) {
        let found = try await buy(counter + 11, challenge)
        #expect(found == refusal)
      }
      #expect(bought == two)
    }
    #expect(try await fixture.number("select mints from token_mints") == 3)
    #expect(
      try await fixture.number(
        "select count(*) from consumed_challenges where expiry > \(StoreFixture.epoch)")
        == 1 + 3)
  }

  @Test("a warm batch of many admissions: two round trips and one Sync for all of it")
  func many() async throws {
    let fixture = try await NodeFixture(nodes: 2, statementTimeout: 60_000)
    let count = 32
    try await fixture.register(count)
    let (node, held) = (fixture.nodes[0], fixture.nodes[1].database)
    for key in 0..<count { #expect(try await node.ledger.admit(request(key, 1, user: "u\(key)")).isAdmitted) }
    for key in 0..<count { #expect(try await node.ledger.admit(request(key, 2)).isAdmitted) }
    let loop = try EventLoop()
    defer { loop.stop() }
    // The first waits for a row; meanwhile the others gather.
    let lock = "select 1 from device_states order by device limit 1 for update"
    let posted = Locked(false)
    let all = try await cost(node) {
      try await withThrowingTaskGroup(of: Bool.self) { group in
        try await held.holding(lock) {
          for key in 0..<count {
            let request = request(key, 3)
            group.addTask(executorPreference: loop) { try await node.ledger.admit(request).isAdmitted }
          }
          group.addTask(executorPreference: loop) {
            posted.withLock { $0 = true }
            return true
          }
          while !posted.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
        }
        for try await isAdmitted in group { #expect(isAdmitted) }
      }
    }
    let batches = all.syncs
    #expect(all.roundTrips == 2 * batches)
    #expect(batches >= 1 && batches < count / 2)
    #expect(try await fixture.sums("running") == (0, Int64(3 * count)))
  }
}
