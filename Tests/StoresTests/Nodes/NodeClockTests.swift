import Admission
import BramleyTesting
import Foundation
import Stores
import Testing

@Suite("Nodes whose clocks differ", .serialized, TestPostgres.required) struct NodeClockTests {
  private static let hour: Int64 = 3_600_000

  /// What a node takes for now, whose clock is wrong by so much.
  private func now(_ error: Int64) -> Int64 {
    Int64(Date().timeIntervalSince1970 * 1_000) + error
  }

  private func request(_ counter: UInt32, error: Int64, lease: Int64) -> AdmissionRequest {
    Requests.assertion(
      0, counter: counter, id: Int(counter), charges: [Requests.running(10)], now: now(error), lease: lease)
  }

  @Test(
    "RULES §5.5: of two nodes one an hour ahead and one an hour behind, neither sweeps the other's live stream"
  )
  func leases() async throws {
    let fixture = try await NodeFixture(nodes: 2, clock: .database)
    try await fixture.register(1)
    let nodes = [(fixture.nodes[0].ledger, Self.hour), (fixture.nodes[1].ledger, -Self.hour)]
    for (index, (ledger, error)) in nodes.enumerated() {
      #expect(
        try await ledger.admit(request(UInt32(index + 1), error: error, lease: 600_000)).isAdmitted)
    }
    for (ledger, error) in nodes { #expect(try await ledger.sweep(now: now(error)) == 0) }
    // Renewed by its own node, and by the other's wrong clock still no sooner over.
    for (index, (ledger, error)) in nodes.enumerated() {
      #expect(try await ledger.renew(Requests.identifier(index + 1), for: 700_000, now: now(error)))
    }
    for (ledger, error) in nodes.reversed() { #expect(try await ledger.sweep(now: now(error)) == 0) }
    let left = try await fixture.number(
      "select (min(lease) - extract(epoch from clock_timestamp()) * 1000)::bigint from reservations")
    #expect(left > 640_000 && left <= 700_000)
    #expect(
      try await fixture.number("select max(lease) - min(lease) from reservations") < 60_000,
      "both are counted by one clock")
  }

  @Test("RULES §5.5: a dead node's lease ends by the database's clock, whoever looks")
  func death() async throws {
    let fixture = try await NodeFixture(nodes: 2, clock: .database)
    try await fixture.register(1)
    let (dead, living) = (fixture.nodes[0].ledger, fixture.nodes[1].ledger)
    for (counter, error) in [(UInt32(1), Self.hour), (2, -Self.hour)] {
      #expect(try await dead.admit(request(counter, error: error, lease: 250)).isAdmitted)
    }
    #expect(try await dead.admit(request(3, error: 0, lease: 600_000)).isAdmitted)
    try await Task.sleep(for: .milliseconds(400))
    #expect(try await living.sweep(now: now(-Self.hour)) == 2)
    #expect(try await living.sweep(now: now(Self.hour)) == 0)
    #expect(try await fixture.sums("running") == (0, 1))
  }

  @Test("RULES §5.5: no job runs twice, nor never, where the nodes' clocks are an hour off")
  func jobs() async throws {
    let fixture = try await NodeFixture(nodes: 2, clock: .database)
    let (ahead, behind) = (fixture.nodes[0].jobs, fixture.nodes[1].jobs)
    func claim(_ store: SQLJobStore, _ error: Int64, interval: Int64, lease: Int64 = 60_000) async throws
      -> JobClaim
    {
      try await store.claim(
        "sweep", node: "\(error)", interval: interval, lease: lease, abandoned: nil, now: now(error))
    }
    // Heard of by the one that is ahead: due in some seconds for both, and not in an hour for the other.
    let soon: Int64 = 5_000
    let heard = ContinuousClock.now
    guard case .notDue = try await claim(ahead, Self.hour, interval: soon) else { Issue.record(); return }
    var taken: JobLease?
    while taken == nil {
      switch try await claim(behind, -Self.hour, interval: soon) {
      case .taken(let lease): taken = lease
      case .notDue: try #require(ContinuousClock.now - heard < .seconds(1_800))
      case .held:
        Issue.record()
        return
      }
      try await Task.sleep(for: .milliseconds(100))
    }
    let lease = try #require(taken)
    #expect(ContinuousClock.now - heard > .seconds(4))
    #expect(try await claim(ahead, Self.hour, interval: soon) == .held(lease))
    let renewed = try #require(try await behind.renew(lease, for: 90_000, now: now(-Self.hour)))
    #expect(renewed.until > lease.until)
    #expect(try await claim(ahead, Self.hour, interval: soon) == .held(renewed))
    #expect(try await behind.finish(lease, .done, interval: 60_000, now: now(-Self.hour)))
    // It ran just now, also for the one that is ahead.
    guard case .notDue = try await claim(ahead, Self.hour, interval: 60_000) else { Issue.record(); return }
    // A node dies in it.
    try await Task.sleep(for: .milliseconds(10))
    guard case .taken = try await claim(ahead, Self.hour, interval: 1, lease: 200) else {
      Issue.record()
      return
    }
    try await Task.sleep(for: .milliseconds(300))
    guard case .taken = try await claim(behind, -Self.hour, interval: 1) else { Issue.record(); return }
  }
}
