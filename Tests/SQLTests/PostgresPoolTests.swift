import BramleyTesting
import SQL
import System
import Testing

@Suite("PostgreSQL's pool of connections", TestPostgres.required) struct PostgresPoolTests {
  @Test("Who waits too long for a connection is told in time, while all of them are held")
  func waitingTooLong() async throws {
    var settings = PostgresSettings(url: TestPostgres.shared ?? "")
    settings.connections = 1
    settings.waitTimeout = 300
    let database = try Database(.postgreSQL(settings))
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
    var settings = PostgresSettings(url: TestPostgres.shared ?? "")
    settings.schema = test.schema
    settings.connections = 8
    settings.waitTimeout = 240_000
    settings.statementTimeout = 60_000
    let database = try Database(.postgreSQL(settings))
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
}
