import BramleyTesting
import SQL
import System
import Testing

/// Looks at nothing, so that a job costs its way to the lane's thread and back; or asks the server once a batch.
private final class Echo: BatchDecider {
  private let asks: Bool
  init(asks: Bool) { self.asks = asks }

  func decide(_ jobs: [Int], in transaction: Transaction, othersWrote: Bool) throws -> [Int] {
    if asks { try transaction.forEach("select 1") { _ in } }
    return jobs
  }
}

@Suite("What handing over to PostgreSQL's threads costs", .serialized, TestPostgres.required)
struct HandOverTests {
  /// Microseconds a job, of so many that wait together.
  private func time(_ lane: BatchLane<Int, Int>, on loop: EventLoop, together: Int, rounds: Int) async throws
    -> Double
  {
    let clock = ContinuousClock()
    let duration = try await clock.measure {
      for _ in 0..<rounds {
        try await withThrowingTaskGroup { group in
          for number in 0..<together {
            group.addTask(executorPreference: loop) { _ = try await lane.submit(number) }
          }
          try await group.waitForAll()
        }
      }
    }
    return duration / .microseconds(1) / Double(together * rounds)
  }

  @Test("the hand-over of a batch, beside a batch that asks the server (decision 0002)")
  func cost() async throws {
    let test = try await TestDatabase(.postgreSQL)
    let loop = try EventLoop()
    defer { loop.stop() }
    let empty = test.database.lane { Echo(asks: false) }
    let asking = test.database.lane { Echo(asks: true) }
    for together in [1, 64] {
      let rounds = together == 1 ? 400 : 40
      _ = try await time(empty, on: loop, together: together, rounds: 5)
      _ = try await time(asking, on: loop, together: together, rounds: 5)
      let over = try await time(empty, on: loop, together: together, rounds: rounds)
      let asked = try await time(asking, on: loop, together: together, rounds: rounds)
      print(
        "\(together) at once: hand-over \((over * 10).rounded() / 10) us a job, "
          + "with two round trips \((asked * 10).rounded() / 10) us")
    }
  }
}
