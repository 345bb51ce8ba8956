import SQL
import System
import Testing

/// Adds to a row that it keeps between batches; negative amounts throw after they wrote.
private final class Adder: BatchDecider {
  private var total: Int64 = 0

  func decide(_ jobs: [Int64], in transaction: SQLiteTransaction, othersWrote: Bool) throws -> [Int64] {
    if othersWrote { total = try transaction.first("select n from totals") { $0.int64(0) } ?? 0 }
    var answers: [Int64] = []
    for job in jobs {
      total += job
      try transaction.execute("update totals set n = $1", [.integer(total)])
      if job < 0 { throw DatabaseError.closed }
      answers.append(total)
    }
    return answers
  }
}

/// The same among nodes: it keeps nothing.
private final class SharedAdder: SharedBatchDecider {
  func decide(_ jobs: [Int64], in transaction: Transaction, attempt: Int) async throws -> [Int64] {
    var total = try await transaction.first("select n from totals for update") { $0.int64(0) } ?? 0
    var answers: [Int64] = []
    for job in jobs {
      total += job
      try await transaction.execute("update totals set n = $1", [.integer(total)])
      if job < 0 { throw DatabaseError.closed }
      answers.append(total)
    }
    return answers
  }
}

@Suite("Batch lane") struct BatchLaneTests {
  private func totals(_ place: Place) async throws -> TestDatabase {
    let test = try await TestDatabase(place)
    try await test.database.write {
      try await $0.script("create table totals (n integer not null) strict; insert into totals values (0);")
    }
    return test
  }

  private func total(_ database: Database) async throws -> Int64? {
    try await database.read { try await $0.first("select n from totals") { $0.int64(0) } }
  }

  @Test("Each job is answered once, between other writers of the same row", arguments: Place.allCases)
  func interleaved(place: Place) async throws {
    let test = try await totals(place)
    let lane = test.database.lane({ Adder() }, among: { SharedAdder() })
    let database = test.database
    let answers = try await withThrowingTaskGroup { group in
      for n in Int64(1)...400 {
        group.addTask {
          if n.isMultiple(of: 20) {
            try await database.write { _ = try await $0.execute("update totals set n = n + 1000000") }
            return nil as Int64?
          }
          return try await lane.submit(1)
        }
      }
      return try await group.reduce(into: [Int64]()) { if let answer = $1 { $0.append(answer) } }
    }
    #expect(Set(answers).count == 380)
    #expect(try await total(database) == 20_000_380)
  }

  @Test("A job that throws after it wrote fails alone", arguments: Place.allCases)
  func failing(place: Place) async throws {
    let test = try await totals(place)
    let lane = test.database.lane({ Adder() }, among: { SharedAdder() })
    let failed = try await withThrowingTaskGroup { group in
      for n in Int64(1)...200 {
        group.addTask {
          do {
            _ = try await lane.submit(n.isMultiple(of: 10) ? -1 : 1)
            return false
          } catch DatabaseError.closed {
            return true
          }
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(failed == 20)
    #expect(try await total(test.database) == 180)
  }

  @Test("Another connection's commit is seen by the next batch")
  func otherProcess() async throws {
    let test = try await totals(.disk)
    let lane = test.database.lane({ Adder() }, among: { SharedAdder() })
    #expect(try await lane.submit(1) == 1)
    #expect(try await lane.submit(1) == 2)
    let other = try Database(.file(test.path))
    try await other.write { _ = try await $0.execute("update totals set n = 100") }
    #expect(try await lane.submit(1) == 101)
  }

  @Test("Tasks on an event loop submit by turns and are answered on it")
  func onLoop() async throws {
    let test = try await totals(.disk)
    let lane = test.database.lane({ Adder() }, among: { SharedAdder() })
    let loop = try EventLoop()
    defer { loop.stop() }
    try await withThrowingTaskGroup { group in
      for _ in 0..<64 {
        group.addTask(executorPreference: loop) {
          for _ in 0..<5 {
            _ = try await lane.submit(1)
            #expect(loop.isCurrent)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await total(test.database) == 320)
  }
}
