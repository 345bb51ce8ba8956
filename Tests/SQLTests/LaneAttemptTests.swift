import BramleyTesting
import SQL
import System
import Testing

/// What becomes of a job's attempts, one after another; the last goes on for all that come.
private struct Course: Sendable {
  var outcomes: [Outcome]

  enum Outcome: Sendable {
    case isDone
    case learns
    case fails(DatabaseError)
    /// Says that it is there, and waits until more have come.
    case waits(isThere: Locked<Bool>, isOver: Locked<Bool>)
  }
}

/// Answers with the attempt at which it was done, by which a test sees what the lane tells.
private final class Learner: SharedBatchDecider {
  private let seen: Locked<[(jobs: Int, attempt: Int)]>
  init(_ seen: Locked<[(jobs: Int, attempt: Int)]>) { self.seen = seen }

  func decide(_ jobs: [Course], in transaction: Transaction, attempt: Int) async throws -> [Int] {
    seen.withLock { $0.append((jobs.count, attempt)) }
    try await transaction.forEach("select 1") { _ in }
    for job in jobs {
      switch job.outcomes[min(attempt, job.outcomes.count) - 1] {
      case .isDone: break
      case .learns: throw BeginAnew()
      case .fails(let error): throw error
      case .waits(let isThere, let isOver):
        isThere.withLock { $0 = true }
        for _ in 0..<150_000 where !isOver.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
      }
    }
    return jobs.map { _ in attempt }
  }
}

@Suite("Attempts of a lane among nodes", TestPostgres.required) struct LaneAttemptTests {
  private func lane(
    _ test: TestDatabase
  ) -> (BatchLane<Course, Int>, Locked<[(jobs: Int, attempt: Int)]>) {
    let seen = Locked<[(jobs: Int, attempt: Int)]>([])
    return (test.database.lane({ NoDecider() }, among: { Learner(seen) }), seen)
  }

  @Test("what a batch learns takes nothing from the attempts at which others may be in the way")
  func lessons() async throws {
    let test = try await TestDatabase(.postgreSQL)
    let (lane, _) = lane(test)
    var outcomes: [Course.Outcome] = []
    for _ in 0..<7 { outcomes += [.learns, .learns, .fails(.conflict), .learns] }
    #expect(try await lane.submit(Course(outcomes: outcomes + [.isDone])) == 29)
    await #expect(throws: DatabaseError.conflict) {
      _ = try await lane.submit(Course(outcomes: outcomes + [.fails(.conflict), .isDone]))
    }
  }

  @Test("a job that learns without end fails, and those of its batch are answered")
  func endless() async throws {
    let test = try await TestDatabase(.postgreSQL)
    let (lane, seen) = lane(test)
    let (isThere, isOver) = (Locked(false), Locked(false))
    try await withThrowingTaskGroup { group in
      group.addTask {
        let first = Course(outcomes: [.waits(isThere: isThere, isOver: isOver)])
        let attempt = try await lane.submit(first)
        #expect(attempt == 1)
      }
      while !isThere.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
      let loop = try EventLoop()
      defer { loop.stop() }
      let posted = Locked(0)
      for place in 0..<4 {
        group.addTask(executorPreference: loop) {
          posted.withLock { $0 += 1 }
          let course = Course(outcomes: place == 2 ? [.learns] : [.isDone])
          do {
            let attempt = try await lane.submit(course)
            #expect(attempt == 1 && place != 2)
          } catch {
            #expect(place == 2)
            #expect(error as? DatabaseError == .conflict)
          }
        }
      }
      while posted.withLock({ $0 }) < 4 { try await Task.sleep(for: .milliseconds(1)) }
      await loop.run {}.value
      isOver.withLock { $0 = true }
      try await group.waitForAll()
    }
    let attempts = seen.withLock { $0 }
    #expect(attempts.contains { $0.jobs == 4 })
    #expect(attempts.count < 100)
  }

  @Test("a decider is told of a first attempt, also where the batch before it was given up")
  func givenUp() async throws {
    let test = try await TestDatabase(.postgreSQL)
    let (lane, seen) = lane(test)
    for last in [DatabaseError.timedOut, .readOnly, .diskFull] {
      await #expect(throws: last) {
        _ = try await lane.submit(Course(outcomes: [.learns, .fails(.conflict), .fails(last)]))
      }
      #expect(try await lane.submit(Course(outcomes: [.isDone])) == 1)
    }
    #expect(seen.withLock { $0.map(\.attempt) } == [1, 2, 3, 1, 1, 2, 3, 1, 1, 2, 3, 1])
  }
}
