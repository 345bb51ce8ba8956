import Foundation
import SQL
import Synchronization
import System
import Testing

/// Counts in a row, and says for each job on which loop it was decided and among how many.
private final class Witness: BatchDecider {
  struct Answer: Sendable, Equatable {
    var total: Int64
    var loop: ObjectIdentifier?
    var batch: Int
  }

  private var total: Int64 = 0

  func decide(_ jobs: [Int64], in transaction: SQLiteTransaction, othersWrote: Bool) throws -> [Answer] {
    if othersWrote { total = try transaction.first("select n from totals") { $0.int64(0) } ?? 0 }
    let answers = jobs.map { job in
      total += job
      return Answer(total: total, loop: EventLoop.current.map(ObjectIdentifier.init), batch: jobs.count)
    }
    try transaction.execute("update totals set n = $1", [.integer(total)])
    if jobs.contains(where: { $0 < 0 }) { throw DatabaseError.closed }
    return answers
  }
}

@Suite("Batches that a loop does in person") struct LeadingTests {
  private typealias Lane = BatchLane<Int64, Witness.Answer>

  /// However slow the disk is, loops may wait for it.
  private static let patient = DatabaseTuning(loopPatience: .max)

  private func totals(_ place: Place, tuning: DatabaseTuning = patient) async throws -> (TestDatabase, Lane) {
    let test = try await TestDatabase(place, tuning: tuning)
    try await test.database.write {
      try await $0.script("create table totals (n integer not null) strict; insert into totals values (0);")
    }
    // A database that is not known yet is left to the thread.
    for _ in 0..<4 { try await test.database.write { _ = try await $0.execute("update totals set n = 0") } }
    return (test, test.database.lane({ Witness() }, among: { NoDecider() }))
  }

  private func total(_ database: Database) async throws -> Int64? {
    try await database.read { try await $0.first("select n from totals") { $0.int64(0) } }
  }

  /// Whether a single brief job from that loop is done on it, once the writer's thread sleeps: it is given time to.
  private func isInPerson(_ lane: Lane, on loop: EventLoop, within attempts: Int) async throws -> Bool {
    for _ in 0..<attempts {
      let answer = try await loop.runThrowing {
        try await loop.sleep(for: .milliseconds(10))
        return try await lane.submit(1, isBrief: true)
      }.value
      if answer.loop == ObjectIdentifier(loop), answer.batch == 1 { return true }
    }
    return false
  }

  @Test("A single brief job is decided on the loop that submitted it")
  func alone() async throws {
    let (test, lane) = try await totals(.disk)
    let loop = try EventLoop()
    defer { loop.stop() }
    #expect(try await isInPerson(lane, on: loop, within: 100))
    for _ in 0..<20 {
      let before = try await total(test.database)
      let answer = try await loop.runThrowing { try await lane.submit(1, isBrief: true) }.value
      #expect(answer.loop == ObjectIdentifier(loop))
      // Committed, not only decided.
      #expect(try await total(test.database) == answer.total)
      #expect(before == answer.total - 1)
    }
  }

  @Test("What is not brief, or comes from no loop, is left to the writer's thread")
  func leftToTheThread() async throws {
    let (test, lane) = try await totals(.memory)
    defer { withExtendedLifetime(test) {} }
    let loop = try EventLoop()
    defer { loop.stop() }
    #expect(try await loop.runThrowing { try await lane.submit(1) }.value.loop == nil)
    #expect(try await lane.submit(1, isBrief: true).loop == nil)
  }

  @Test("A loop that serves many, or whose disk is slow, does nothing in person")
  func busyLoop() async throws {
    let (test, lane) = try await totals(.memory)
    defer { withExtendedLifetime(test) {} }
    let loop = try EventLoop()
    defer { loop.stop() }
    try await loop.runThrowing { for _ in 0..<4 { loop.engage() } }.value
    #expect(try await isInPerson(lane, on: loop, within: 100))
    try await loop.runThrowing { loop.engage() }.value
    #expect(try await !isInPerson(lane, on: loop, within: 3))
    try await loop.runThrowing { loop.disengage() }.value
    #expect(try await isInPerson(lane, on: loop, within: 100))

    let (other, slow) = try await totals(.memory, tuning: DatabaseTuning(loopPatience: 0))
    defer { withExtendedLifetime(other) {} }
    #expect(try await !isInPerson(slow, on: loop, within: 3))
  }

  @Test("The jobs of a turn share a batch, brief or not")
  func turn() async throws {
    let (test, lane) = try await totals(.disk)
    defer { withExtendedLifetime(test) {} }
    let loop = try EventLoop()
    defer { loop.stop() }
    let answers = try await loop.runThrowing {
      try await withThrowingTaskGroup { group in
        for _ in 0..<16 { group.addTask { try await lane.submit(1, isBrief: true) } }
        return try await group.reduce(into: [Witness.Answer]()) { $0.append($1) }
      }
    }.value
    #expect(answers.allSatisfy { $0.loop == nil && $0.batch == 16 })
    #expect(answers.map(\.total).sorted() == Array(1...16))
  }

  @Test("A failed job fails alone, and the loop goes on in person")
  func failure() async throws {
    let (test, lane) = try await totals(.disk)
    let loop = try EventLoop()
    defer { loop.stop() }
    await #expect(throws: DatabaseError.closed) {
      try await loop.runThrowing { try await lane.submit(-1, isBrief: true) }.value
    }
    #expect(try await total(test.database) == 0)
    #expect(try await isInPerson(lane, on: loop, within: 100))
  }

  @Test("A database that another process locks keeps no loop waiting, and the job is done when it is let go")
  func locked() async throws {
    // A loop that waited for the lock would do so for much longer than its timers may take.
    let (test, lane) = try await totals(
      .disk, tuning: DatabaseTuning(busyTimeout: 300_000, loopPatience: .max))
    let other = try Database(.file(test.path))
    let isLocked = Atomic<Bool>(false)
    let letGo = DispatchSemaphore(value: 0)
    let loop = try EventLoop()
    defer { loop.stop() }
    async let holding: Void = other.write {
      _ = try await $0.execute("update totals set n = 100")
      isLocked.store(true, ordering: .releasing)
      letGo.wait()
    }
    while !isLocked.load(ordering: .acquiring) { await Task.yield() }
    let job = loop.runThrowing { try await lane.submit(1, isBrief: true) }
    // The loop turns: a timer fires while the job waits.
    let waited = try await loop.runThrowing {
      let start = MonotonicTime.now
      for _ in 0..<5 { try await loop.sleep(for: .milliseconds(10)) }
      return MonotonicTime.now - start
    }.value
    #expect(waited < .seconds(120))
    letGo.signal()
    try await holding
    let answer = try await job.value
    #expect(answer.total == 101)
    #expect(answer.loop == nil)
  }

  @Test(
    "Many loops, lonely and crowded, single jobs and closures: every job is counted once, each batch in one hand"
  )
  func race() async throws {
    // However slow the disk is: what is raced is who commits.
    let (test, lane) = try await totals(.disk, tuning: DatabaseTuning(loopPatience: .max))
    let database = test.database
    let loops = try EventLoopGroup(loops: 3)
    defer { loops.stop() }
    let answers = try await withThrowingTaskGroup { group in
      for index in 0..<3 {
        for burst in [1, 1, 4] {
          group.addTask(executorPreference: loops.loops[index]) {
            var answers: [Witness.Answer] = []
            for round in 0..<40 {
              for _ in 0..<(round.isMultiple(of: 8) ? burst : 1) {
                answers.append(try await lane.submit(1, isBrief: true))
              }
              try await loops.loops[index].sleep(for: .microseconds(300 * (index + 1)))
            }
            return answers
          }
        }
      }
      group.addTask {
        for _ in 0..<60 {
          try await database.write { _ = try await $0.execute("update totals set n = n + 1000000") }
        }
        return []
      }
      return try await group.reduce(into: [Witness.Answer]()) { $0 += $1 }
    }
    // Six tasks with 40 jobs, and three with 35 and five times four.
    #expect(answers.count == 405)
    #expect(Set(answers.map(\.total)).count == 405)
    #expect(try await total(database) == 60_000_405)
    // And the thread sleeps again: a loop with nothing else to do commits, in the end.
    let loop = loops.loops[0]
    let isLed = try await loop.runThrowing {
      for _ in 0..<200 {
        if try await lane.submit(1, isBrief: true).loop != nil { return true }
        try await loop.sleep(for: .milliseconds(1))
      }
      return false
    }.value
    #expect(isLed)
  }

  @Test("A database that is closed while loops work finishes what it took and refuses what comes")
  func closing() async throws {
    for _ in 0..<20 {
      let (test, lane) = try await totals(.disk)
      let loop = try EventLoop()
      let counting = loop.run {
        var done: Int64 = 0
        while let answer = try? await lane.submit(1, isBrief: true) { done = answer.total }
        return done
      }
      try await loop.runThrowing { try await loop.sleep(for: .milliseconds(1)) }.value
      test.database.close()
      let done = await counting.value
      loop.stop()
      let again = try Database(.file(test.path))
      #expect(try await total(again) == done)
    }
  }

  @Test("The log is moved into the file when it is long, whoever wrote it")
  func log() async throws {
    let (test, lane) = try await totals(
      .disk, tuning: DatabaseTuning(checkpointPages: 20, loopPatience: .max))
    let loop = try EventLoop()
    defer { loop.stop() }
    for _ in 0..<300 { _ = try await loop.runThrowing { try await lane.submit(1, isBrief: true) }.value }
    let size = try FileManager.default.attributesOfItem(atPath: test.path + "-wal")[.size] as? Int
    // Without it: 300 pages and more.
    #expect(try #require(size) < 60 * 4_200)
  }
}
