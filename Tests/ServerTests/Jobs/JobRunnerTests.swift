import Admission
import BramleyTesting
import SQL
import Stores
import Synchronization
import Testing

@testable import Server

@Suite("Running jobs once among nodes") struct JobRunnerTests {
  /// A clock for the wall and one that never goes back.
  private final class Clocks: Sendable {
    let wall = Mutex<Int64>(1_800_000_000_000)
    let uptime = Mutex<Int64>(5)

    func pass(_ milliseconds: Int64) {
      wall.withLock { $0 += milliseconds }
      uptime.withLock { $0 += milliseconds * 1_000_000 }
    }
  }

  private let clocks = Clocks()

  private func runner(
    _ job: Job, _ database: Database, node: String,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in
      try await Task.sleep(for: .seconds(60))
    }
  ) -> JobRunner {
    let clocks = clocks
    return JobRunner(
      job,
      JobRunner.Context(
        store: SQLJobStore(database), node: node, now: { clocks.wall.withLock { $0 } },
        uptime: { clocks.uptime.withLock { $0 } }, sleep: sleep, failed: { _, _ in }))
  }

  private func database() async throws -> Database {
    let database = try Database(.memory)
    try await Schema.migrate(database, now: 1)
    return database
  }

  @Test("of ten nodes that attempt at once one runs, at each interval")
  func once() async throws {
    let database = try await database()
    defer { database.close() }
    let runs = Mutex(0)
    let job = Job(name: "count", interval: 60, nodes: .oneNode) {
      runs.withLock { $0 += 1 }
      return .done
    }
    let runners = (0..<10).map { runner(job, database, node: "\($0)") }
    for round in 0..<20 {
      await withTaskGroup { group in
        for runner in runners { group.addTask { await runner.attempt() } }
      }
      #expect(runs.withLock { $0 } == round)
      clocks.pass(60_000)
    }
  }

  @Test("a node that lost its lease stops its work and notes nothing")
  func lost() async throws {
    let database = try await database()
    defer { database.close() }
    let stopped = Mutex(false)
    let job = Job(name: "long", interval: 60, nodes: .oneNode) {
      do {
        try await Task.sleep(for: .seconds(3_600))
        return .done
      } catch {
        stopped.withLock { $0 = true }
        return .failed("cancelled")
      }
    }
    let clocks = clocks
    let store = SQLJobStore(database)
    // While it works and before it renews, its lease runs out and another node takes the job.
    let first = runner(
      job, database, node: "slow",
      sleep: { _ in
        clocks.pass(90_000)
        _ = try await store.claim(
          "long", node: "other", interval: 60_000, lease: 90_000, abandoned: nil,
          now: clocks.wall.withLock { $0 })
      })
    _ = await first.attempt()
    clocks.pass(60_000)
    #expect(await first.attempt() == .lost)
    #expect(stopped.withLock { $0 })
    let state = try #require(try await store.jobs().first)
    #expect(state.node == "other" && state.leasedUntil != nil && state.outcome == nil)
  }

  @Test("a dead node's lease lies a year ahead since the clock went back: it is taken over after its length")
  func abandoned() async throws {
    let database = try await database()
    defer { database.close() }
    let store = SQLJobStore(database)
    let job = Job(name: "sweep", interval: 60, nodes: .oneNode) { .done }
    let living = runner(job, database, node: "living")
    _ = await living.attempt()
    clocks.pass(60_000)
    _ = try await store.claim(
      "sweep", node: "dead", interval: 60_000, lease: 90_000, abandoned: nil, now: clocks.wall.withLock { $0 }
    )
    clocks.wall.withLock { $0 -= 365 * 86_400_000 }
    #expect(await living.attempt() == .heldElsewhere)
    clocks.pass(89_000)
    #expect(await living.attempt() == .heldElsewhere)
    clocks.pass(2_000)
    #expect(await living.attempt() == .ran(.done))
    #expect(await living.attempt() == .notDue)
  }

  @Test("failures are noted, and the job comes again")
  func failing() async throws {
    let database = try await database()
    defer { database.close() }
    let job = Job(name: "sweep", interval: 60, nodes: .oneNode) { .failed("no room") }
    let runner = runner(job, database, node: "a")
    _ = await runner.attempt()
    clocks.pass(60_000)
    #expect(await runner.attempt() == .ran(.failed("no room")))
    #expect(try await SQLJobStore(database).jobs().first?.outcome == "failed: no room")
    clocks.pass(60_000)
    #expect(await runner.attempt() == .ran(.failed("no room")))
  }

  @Test("a store that does not answer runs nothing")
  func unknown() async throws {
    let database = try await database()
    database.close()
    let runs = Mutex(0)
    let job = Job(name: "sweep", interval: 60, nodes: .oneNode) {
      runs.withLock { $0 += 1 }
      return .done
    }
    #expect(await runner(job, database, node: "a").attempt() == .unknown)
    #expect(runs.withLock { $0 } == 0)
  }

  @Test("the server's own jobs: leases are each node's, the rest is one node's")
  func shared() async throws {
    let server = try await WholeServer()
    let own = server.server.jobs.filter { $0.nodes == .everyNode }.map(\.name)
    #expect(own == ["renew_leases", "settle_owed", "tell_alarms", "renew_runs", "settle_queued_calls"])
    #expect(server.server.jobs.count > 3)
  }
}
