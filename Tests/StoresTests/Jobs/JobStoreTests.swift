import Admission
import BramleyTesting
import Foundation
import SQL
import Stores
import Testing

@Suite("Jobs among nodes") struct JobStoreTests {
  private let now: Int64 = 1_800_000_000_000
  private let interval: Int64 = 60_000
  private let lease: Int64 = 90_000

  private func claim(
    _ store: SQLJobStore, _ node: String = "a", job: String = "sweep", abandoned: JobLease? = nil,
    at time: Int64
  ) async throws -> JobClaim {
    try await store.claim(
      job, node: node, interval: interval, lease: lease, abandoned: abandoned, now: time)
  }

  private func taken(_ claim: JobClaim) -> JobLease? {
    if case .taken(let lease) = claim { lease } else { nil }
  }

  @Test(
    "a job is due one interval after it is first heard of, and after each run", arguments: Backend.allCases)
  func schedule(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = SQLJobStore(fixture.database, clock: .caller)
    defer { withExtendedLifetime(fixture) {} }
    #expect(try await claim(store, at: now) == .notDue(now + interval))
    #expect(try await claim(store, at: now + interval - 1) == .notDue(now + interval))
    let lease = try #require(taken(try await claim(store, at: now + interval)))
    #expect(lease == JobLease(job: "sweep", generation: 1, until: now + interval + self.lease))
    let end = now + interval + 500
    #expect(try await store.finish(lease, .done, interval: interval, now: end))
    #expect(try await !store.finish(lease, .done, interval: 0, now: end))
    #expect(try await claim(store, at: end + 1) == .notDue(end + interval))
    let state = try #require(try await store.jobs().first)
    #expect(
      state
        == JobState(
          name: "sweep", node: "a", leasedUntil: nil, lastStart: now + interval, lastEnd: end,
          outcome: "done",
          nextRun: end + interval))
  }

  @Test("nodes that race for a job many times: exactly one runs it each time", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let first = SQLJobStore(fixture.database, clock: .caller)
    // On disk the second node is another connection, as another process would have it.
    let other = backend == .disk ? try Database(.file(fixture.path)) : fixture.database
    defer {
      if backend == .disk { other.close() }
      withExtendedLifetime(fixture) {}
    }
    let second = SQLJobStore(other, clock: .caller)
    _ = try await claim(first, at: now)
    for round in 1...60 {
      let time = now + Int64(round) * interval
      let leases = try await withThrowingTaskGroup(of: JobClaim.self) { group in
        for node in 0..<8 {
          group.addTask {
            try await claim(node.isMultiple(of: 2) ? first : second, "node \(node)", at: time)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let winners = leases.compactMap { taken($0) }
      #expect(winners.count == 1, "round \(round)")
      let winner = try #require(winners.first)
      #expect(winner.generation == Int64(round))
      // Who came while it was being taken is not told by whom.
      #expect(leases.count { $0 == .held(winner) || (backend == .postgreSQL && $0 == .held(nil)) } == 7)
      #expect(try await second.finish(winner, .done, interval: interval, now: time))
    }
  }

  @Test(
    "a node dies in a job: nobody has it until the lease ends, then one other", arguments: Backend.allCases)
  func death(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = SQLJobStore(fixture.database, clock: .caller)
    defer { withExtendedLifetime(fixture) {} }
    _ = try await claim(store, at: now)
    let dead = try #require(taken(try await claim(store, at: now + interval)))
    #expect(try await claim(store, "b", at: dead.until - 1) == .held(dead))
    let next = try #require(taken(try await claim(store, "b", at: dead.until)))
    #expect(next.generation == dead.generation + 1)
    #expect(try await claim(store, "c", at: dead.until) == .held(next))
    // It was not dead after all: what it does now counts for nothing.
    #expect(try await store.renew(dead, for: lease, now: now) == nil)
    #expect(try await !store.finish(dead, .failed("late"), interval: .max, now: now))
    #expect(try await store.jobs().first?.node == "b")
    #expect(try await store.finish(next, .failed("disk"), interval: 10 * interval, now: now))
    #expect(try await store.jobs().first?.outcome == "failed: disk")
  }

  @Test("a renewed lease holds for longer", arguments: Backend.allCases)
  func renewal(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = SQLJobStore(fixture.database, clock: .caller)
    defer { withExtendedLifetime(fixture) {} }
    _ = try await claim(store, at: now)
    let lease = try #require(taken(try await claim(store, at: now + interval)))
    let longer = try #require(try await store.renew(lease, for: 50_000, now: lease.until))
    #expect(try await claim(store, "b", at: lease.until + 1) == .held(longer))
    // Also under its old value: the number is what counts.
    #expect(try await store.finish(lease, .done, interval: 0, now: now))
    #expect(try await store.renew(longer, for: 1, now: now) == nil)
  }

  @Test("the clock goes back a year: a job runs at once, not in a year", arguments: Backend.allCases)
  func clockBack(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    let store = SQLJobStore(fixture.database, clock: .caller)
    defer { withExtendedLifetime(fixture) {} }
    let year: Int64 = 365 * 86_400_000
    _ = try await claim(store, at: now + year)
    let lease = try #require(taken(try await claim(store, at: now)))
    // The clock that took it was right, the one that asks is not: a running job is nobody else's …
    #expect(try await claim(store, "b", at: now - year) == .held(lease))
    // … until it was seen unchanged for too long. A lease that was renewed since is another.
    let renewed = try #require(try await store.renew(lease, for: 1, now: lease.until))
    #expect(try await claim(store, "b", abandoned: lease, at: now - year) == .held(renewed))
    let next = try #require(taken(try await claim(store, "b", abandoned: renewed, at: now - year)))
    #expect(try await claim(store, "c", abandoned: renewed, at: now - year) == .held(next))
    #expect(try await store.finish(next, .done, interval: interval, now: now - year))
    #expect(try await claim(store, at: now - year + 1) == .notDue(now - year + interval))
  }

  @Test("asking too early writes nothing, so that the ledger keeps its rows")
  func quiet() async throws {
    let fixture = try await StoreFixture(.disk)
    let store = SQLJobStore(fixture.database, clock: .caller)
    _ = try await claim(store, at: now)
    let other = try Database(.readOnlyFile(fixture.path))
    defer { other.close() }
    let version: @Sendable () async throws -> Int64? = {
      try await other.read { try await $0.first("pragma data_version") { $0.int64(0) } }
    }
    let before = try await version()
    for _ in 0..<20 { _ = try await claim(store, at: now + 1) }
    #expect(try await version() == before)
  }

  @Test("a job that another node is at is not waited for", TestPostgres.required)
  func notWaiting() async throws {
    let fixture = try await StoreFixture(.postgreSQL)
    let store = SQLJobStore(fixture.database, clock: .caller)
    _ = try await claim(store, at: now)
    let lock = "select 1 from jobs where name = 'sweep' for update"
    // Due, and at this very moment somebody takes it: no word of whose lease it will be.
    let due = try await fixture.database.holding(lock) { try await claim(store, at: now + interval) }
    #expect(due == .held(nil))
    let lease = try #require(taken(try await claim(store, at: now + interval)))
    // Its lease has ended, and somebody takes it over.
    let over = try await fixture.database.holding(lock) { try await claim(store, "b", at: lease.until) }
    #expect(over == .held(lease))
    // The same while the row is changed, and for a job beside it.
    let change = "update jobs set node = 'c' where name = 'sweep' returning 1"
    let (changed, other) = try await fixture.database.holding(change) {
      (
        try await claim(store, "b", at: lease.until), try await claim(store, "b", job: "other", at: now)
      )
    }
    #expect(changed == .held(lease))
    #expect(other == .notDue(now + interval))
    #expect(try #require(taken(try await claim(store, "b", at: lease.until))).generation == 2)
  }

  @Test("nodes that race on PostgreSQL: exactly one runs the job each time", TestPostgres.required)
  func raceOnPostgreSQL() async throws {
    var settings = PostgresSettings(url: TestPostgres.shared ?? "")
    settings.schema = "jobs_\(UUID().uuidString.lowercased().filter { $0 != "-" })"
    settings.connections = 4
    settings.waitTimeout = 60_000
    settings.statementTimeout = 60_000
    let nodes = try (0..<4).map { _ in try Database(.postgreSQL(settings)) }
    defer { for node in nodes { node.close() } }
    try await Schema.migrate(nodes[0], now: 1)
    let stores = nodes.map { SQLJobStore($0, clock: .caller) }
    _ = try await claim(stores[0], at: now)
    for round in 1...25 {
      let time = now + Int64(round) * interval
      let leases = try await withThrowingTaskGroup(of: JobClaim.self) { group in
        for node in 0..<12 {
          group.addTask { try await claim(stores[node % 4], "node \(node)", at: time) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let winners = leases.compactMap { taken($0) }
      #expect(winners.count == 1, "round \(round)")
      let winner = try #require(winners.first)
      #expect(winner.generation == Int64(round))
      // Its node dies in every third round.
      if round.isMultiple(of: 3) {
        #expect(try await claim(stores[1], at: winner.until - 1) == .held(winner))
        let next = try #require(taken(try await claim(stores[2], at: winner.until)))
        #expect(try await stores[3].renew(winner, for: lease, now: time) == nil)
        #expect(try await stores[3].finish(next, .done, interval: interval, now: time))
        try await nodes[0].write {
          _ = try await $0.execute("update jobs set generation = $1", [.integer(Int64(round))])
        }
      } else {
        #expect(try await stores[1].finish(winner, .done, interval: interval, now: time))
      }
    }
    #expect(try await stores[0].jobs().count == 1)
  }
}
