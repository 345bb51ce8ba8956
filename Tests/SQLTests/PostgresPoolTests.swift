import BramleyTesting
import SQL
import System
import Testing

@Suite("PostgreSQL's pool of connections", TestPostgres.required) struct PostgresPoolTests {
  private func database(
    schema: String = "auth", connections: Int, waitTimeout: Int64
  ) throws -> Database {
    var settings = PostgresSettings(url: TestPostgres.shared ?? "")
    settings.schema = schema
    settings.connections = connections
    settings.waitTimeout = waitTimeout
    settings.statementTimeout = 60_000
    return try Database(.postgreSQL(settings))
  }

  @Test("Who waits too long for a connection is told in time, while all of them are held")
  func waitingTooLong() async throws {
    let database = try database(connections: 1, waitTimeout: 300)
    defer { database.close() }
    let (isHeld, isOver) = (Locked(false), Locked(false))
    /// On a busy machine the connection itself may not come in time.
    @Sendable func insist(_ body: @escaping @Sendable (Transaction) async throws -> Void) async throws {
      while true {
        do { return try await database.read(body) } catch DatabaseError.unavailable { continue }
      }
    }
    async let held: Void = insist { transaction in
      isHeld.withLock { $0 = true }
      let deadline = MonotonicTime.now + .seconds(60)
      while !isOver.withLock({ $0 }), .now < deadline {
        try await transaction.forEach("select pg_sleep(0.01)") { _ in }
      }
    }
    while !isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    // Those who come after the first were told, too.
    for _ in 0..<2 {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            await #expect(throws: DatabaseError.unavailable("no connection was free in time")) {
              try await database.read { _ in }
            }
          }
        }
      }
    }
    isOver.withLock { $0 = true }
    try await held
    try await insist { try await $0.forEach("select 1") { _ in } }
  }

  @Test("Transactions that are all in each other's way are all done, each once")
  func conflicts() async throws {
    let test = try await TestDatabase(.postgreSQL)
    let database = try database(schema: test.schema, connections: 8, waitTimeout: 240_000)
    defer { database.close() }
    try await database.write { try await $0.script("create table sums (n integer not null)") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask {
          // Each looks at all rows and adds one that depends on them: whoever overlaps is in the way.
          try await database.write { transaction in
            let sum = try await transaction.first("select count(*) from sums") { $0.int64(0) } ?? 0
            try await transaction.forEach("select pg_sleep(0.002)") { _ in }
            try await transaction.execute("insert into sums values ($1)", [.integer(sum)])
          }
        }
      }
      try await group.waitForAll()
    }
    let numbers = try await database.read {
      try await $0.rows("select n from sums order by n") { $0.int64(0) }
    }
    #expect(numbers == Array(0..<100))
  }

  @Test("A server that is away is told of at once, although a lane has not noticed, and found again")
  func away() async throws {
    let server = try #require(TestPostgres())
    var settings = PostgresSettings(url: server.url)
    settings.waitTimeout = 120_000
    let database = try Database(.postgreSQL(settings))
    defer { database.close() }
    let lane = database.lane({ NoDecider<Int, Int>() }, among: { Holder(Locked(false), Locked(true)) })
    func reads() async -> Bool {
      (try? await database.read { try await $0.first("select 1") { $0.int64(0) } }) == 1
    }
    #expect(try await lane.submit(1) == 1)
    #expect(await reads())
    server.tell("stop")
    let start = MonotonicTime.now
    for _ in 0..<5 { await #expect(!reads()) }
    // Each had waited for a connection as long as it may: two minutes here.
    #expect(MonotonicTime.now - start < .seconds(100))
    server.tell("start")
    let deadline = MonotonicTime.now + .seconds(60)
    while await !reads() {
      try #require(.now < deadline)
      try await Task.sleep(for: .milliseconds(20))
    }
    withExtendedLifetime(server) {}
  }

  @Test("Whoever waits behind a batch that gets no answer is told in time, and the batch itself is done")
  func behindABatch() async throws {
    let database = try database(connections: 1, waitTimeout: 300)
    defer { database.close() }
    let (isHeld, isOver) = (Locked(false), Locked(false))
    let lane = database.lane({ NoDecider() }, among: { Holder(isHeld, isOver) })
    async let first = {
      while true {
        // On a busy machine the lane itself may not begin in time.
        do { return try await lane.submit(1) } catch DatabaseError.unavailable { continue }
      }
    }()
    while !isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    await withTaskGroup(of: Void.self) { group in
      for number in 2..<6 {
        group.addTask {
          await #expect(throws: DatabaseError.unavailable("what came before is not answered in time")) {
            _ = try await lane.submit(number)
          }
        }
      }
    }
    isOver.withLock { $0 = true }
    #expect(try await first == 1)
  }
}

/// Keeps its first batch until it is told to go on.
private final class Holder: SharedBatchDecider {
  private let isHeld: Locked<Bool>
  private let isOver: Locked<Bool>

  init(_ isHeld: Locked<Bool>, _ isOver: Locked<Bool>) {
    self.isHeld = isHeld
    self.isOver = isOver
  }

  func decide(_ jobs: [Int], in transaction: Transaction, attempt: Int) async throws -> [Int] {
    isHeld.withLock { $0 = true }
    let deadline = MonotonicTime.now + .seconds(60)
    while !isOver.withLock({ $0 }), .now < deadline {
      try await transaction.forEach("select pg_sleep(0.01)") { _ in }
    }
    return jobs
  }
}

@Suite("What waits for a connection") struct WaitingListTests {
  private func time(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

  @Test("Those who come back are served first, and nobody hides who has waited too long")
  func order() {
    var list = WaitingList<Int>()
    #expect(list.isEmpty && list.deadline == nil)
    for number in 1...5 { list.append(number, until: time(Int64(number) * 10)) }
    list.giveBack(9, until: time(35))
    list.giveBack(8, until: time(5))
    #expect(list.deadline == time(5))
    #expect(list.takeLate(time(20)) == [8, 1, 2])
    #expect(list.deadline == time(30))
    #expect(list.take(2) == [9, 3])
    #expect(list.takeLate(time(39)) == [])
    #expect(list.takeLate(time(40)) == [4])
    #expect(list.take(7) == [5])
    #expect(list.isEmpty && list.take(1) == [] && list.takeLate(time(99)) == [])
  }

  @Test(
    "A timer is set for whoever is first to have waited too long, also for one who came back with less time")
  func watches() {
    var list = WaitingList<Int>()
    #expect(list.newWatch() == nil)
    list.append(1, until: time(50))
    #expect(list.newWatch() == time(50))
    list.append(2, until: time(60))
    #expect(list.newWatch() == nil)
    list.giveBack(9, until: time(35))
    #expect(list.newWatch() == time(35))
    #expect(list.takeLate(time(35)) == [9])
    #expect(list.newWatch() == time(50))
    #expect(list.takeLate(time(50)) == [1])
    #expect(list.newWatch() == time(60))
    // The first timer for 50, which was not taken back: it finds nothing, and sets none.
    #expect(list.takeLate(time(50)) == [])
    #expect(list.newWatch() == nil)
    #expect(list.takeLate(time(60)) == [2])
    #expect(list.newWatch() == nil)
  }

  @Test("Thousands come and go, and none is lost or served twice")
  func many() {
    var list = WaitingList<Int>()
    var served: [Int] = []
    for number in 0..<5_000 {
      list.append(number, until: time(Int64(number)))
      if number.isMultiple(of: 3) { served += list.take(2) }
      if number.isMultiple(of: 7) { served += list.takeLate(time(Int64(number) - 40)) }
    }
    served += list.take(.max)
    #expect(served == Array(0..<5_000))
    #expect(list.isEmpty)
  }
}
