import BramleyTesting
import SQL
import System
import Testing

/// What a lane's transaction does, step by step, for tests of the wire.
private enum Step: Sendable {
  case add
  /// Waits for an answer.
  case ask(String)
  /// The same, and goes on as if nothing had happened when it fails.
  case askAnyway(String)
  /// Goes out with the commit.
  case enqueue(String)
  /// Says that it is there, and then nothing for as long as the other is false.
  case waits(isThere: Locked<Bool>, isOver: Locked<Bool>)
}

private final class Stepper: SharedBatchDecider {
  /// The server's process that served the job.
  func decide(_ jobs: [[Step]], in transaction: Transaction, attempt: Int) async throws -> [Int64] {
    var processes: [Int64] = []
    for steps in jobs {
      var process: Int64 = 0
      for step in steps {
        switch step {
        case .add:
          try await transaction.together([
            Query("select n from totals for update"), Query("select pg_backend_pid()"),
          ]) { if $0 == 1 { process = $1.int64(0) } }
          try transaction.enqueue("update totals set n = n + 1", [])
        case .ask(let sql): try await transaction.forEach(sql) { _ in }
        case .askAnyway(let sql): try? await transaction.forEach(sql) { _ in }
        case .enqueue(let sql): try transaction.enqueue(sql, [])
        case .waits(let isThere, let isOver):
          isThere.withLock { $0 = true }
          // Five minutes at most: a test that failed before it said so must not hang.
          for _ in 0..<150_000 where !isOver.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
        }
      }
      processes.append(process)
    }
    return processes
  }
}

@Suite("Flights to PostgreSQL", TestPostgres.required) struct PostgresFlightTests {
  private func test(
    statementTimeout: Int32 = 60_000
  ) async throws -> (TestDatabase, BatchLane<[Step], Int64>) {
    let test = try await TestDatabase(.postgreSQL, statementTimeout: statementTimeout)
    try await test.database.write {
      try await $0.script("create table totals (n integer not null) strict; insert into totals values (0);")
    }
    return (test, test.database.lane({ NoDecider() }, among: { Stepper() }))
  }

  private func total(_ test: TestDatabase) async throws -> Int64? {
    try await test.database.read { try await $0.first("select n from totals") { $0.int64(0) } }
  }

  @Test("a batch that looks once and writes takes two round trips and one Sync, however often")
  func oneSync() async throws {
    let (test, lane) = try await test()
    _ = try await lane.submit([.add])
    for _ in 0..<5 {
      let before = try #require(test.database.traffic?.counts)
      _ = try await lane.submit([.add])
      let after = try #require(test.database.traffic?.counts)
      #expect(after.roundTrips - before.roundTrips == 2)
      #expect(after.syncs - before.syncs == 1)
    }
    let before = try #require(test.database.traffic?.counts)
    _ = try await lane.submit([.add, .ask("select 1"), .ask("select 2"), .add])
    let after = try #require(test.database.traffic?.counts)
    #expect(after.roundTrips - before.roundTrips == 5)
    #expect(after.syncs - before.syncs == 1)
    #expect(try await total(test) == 8)
  }

  @Test(
    "a statement that fails before the Sync is rolled back, and the same connection serves what follows",
    arguments: [
      "select 1 / 0", "selec nonsense", "select n from nowhere", "insert into totals values (null)",
    ])
  func failing(sql: String) async throws {
    let (test, lane) = try await test()
    let process = try await lane.submit([.add])
    for _ in 0..<3 {
      for steps in [
        [Step.ask(sql), .add], [.add, .ask(sql)], [.add, .ask("select 1"), .ask(sql), .ask("select 2")],
        [.add, .enqueue(sql)], [.enqueue(sql), .add],
      ] {
        await #expect(throws: DatabaseError.self) { _ = try await lane.submit(steps) }
      }
      #expect(try await lane.submit([.add]) == process)
    }
    #expect(try await total(test) == 4)
  }

  @Test("whoever passes over a failure is not told that nothing was found, and commits nothing")
  func passedOver() async throws {
    let (test, lane) = try await test()
    let process = try await lane.submit([.add])
    for steps in [
      [Step.add, .askAnyway("select 1 / 0"), .ask("select n from totals")],
      [.add, .askAnyway("select 1 / 0")], [.add, .askAnyway("select 1 / 0"), .enqueue("select 1")],
    ] {
      await #expect(throws: DatabaseError.self) { _ = try await lane.submit(steps) }
      #expect(try await lane.submit([.add]) == process)
    }
    #expect(try await total(test) == 4)
  }

  @Test("jobs that share a batch with one that fails before the Sync are all done, once")
  func sharing() async throws {
    let (test, lane) = try await test()
    let failed = try await withThrowingTaskGroup { group in
      for n in 1...120 {
        group.addTask {
          do {
            _ = try await lane.submit(n.isMultiple(of: 10) ? [.add, .ask("select 1 / 0")] : [.add])
            return false
          } catch is DatabaseError {
            return true
          }
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(failed == 12)
    #expect(try await total(test) == 108)
  }

  @Test(
    "a connection that is killed in the first flight, in one between or with the commit: not done, and it goes on"
  )
  func killed() async throws {
    let (test, lane) = try await test()
    var process = try await lane.submit([.add])
    let kill = "select pg_terminate_backend(pg_backend_pid()), pg_sleep(1)"
    for steps in [
      [Step.ask(kill)], [.add, .ask(kill)], [.add, .ask("select 1"), .ask(kill), .add],
      [.add, .enqueue(kill)],
    ] {
      await #expect(throws: DatabaseError.self) { _ = try await lane.submit(steps) }
      // The server may refuse a moment after; then that is what is said.
      var next: Int64?
      for _ in 0..<600 where next == nil {
        next = try? await lane.submit([.add])
        if next == nil { try await Task.sleep(for: .milliseconds(100)) }
      }
      #expect(try #require(next) != process)
      process = try #require(next)
    }
    #expect(try await total(test) == 5)
  }

  @Test("a lane that is frozen with its locks is ended by who waits for them, and its batch is not half done")
  func silence() async throws {
    let (test, frozen) = try await test(statementTimeout: 3_000)
    let other = test.database.lane({ NoDecider() }, among: { Stepper() })
    // Warm, so that both are known to each other. On a busy machine what is to take less than 3 s may take more.
    try #require(await isSoonDone { try await frozen.submit([.add]) })
    try #require(await isSoonDone { try await other.submit([.add]) })
    let (isThere, isOver) = (Locked(false), Locked(false))
    async let silent = isDone(frozen, [.add, .waits(isThere: isThere, isOver: isOver)], from: isThere)
    // Behind it, so that it runs before what is under way is waited for.
    defer { isOver.withLock { $0 = true } }
    try #require(await isSoonDone { isThere.withLock { $0 } ? true : nil })
    // It holds the row's lock, until the other one found out.
    #expect(await isSoonDone { try await other.submit([.add]) })
    #expect(try await total(test) == 3)
    isOver.withLock { $0 = true }
    #expect(await !silent)
    #expect(await isSoonDone { try await frozen.submit([.add]) })
    #expect(try await total(test) == 4)
  }

  /// Whether one of many attempts gives something: for four minutes, since thousands of tests may run beside.
  private func isSoonDone<Value>(_ attempt: () async throws -> Value?) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(240)
    while ContinuousClock.now < deadline {
      if (try? await attempt()) != nil { return true }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return false
  }

  /// Whether the steps are done, of which one says that it is there; they are begun anew as long as it is not.
  private func isDone(
    _ lane: BatchLane<[Step], Int64>, _ steps: [Step], from isThere: Locked<Bool>
  ) async -> Bool {
    repeat {
      if (try? await lane.submit(steps)) != nil { return true }
    } while !isThere.withLock { $0 }
    return false
  }
}
