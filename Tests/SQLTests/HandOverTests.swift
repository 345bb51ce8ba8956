import BramleyTesting
import SQL
import System
import Testing

/// Looks at nothing, so that a job costs its way to the lane and back; or asks the server once a batch.
private final class Echo: SharedBatchDecider {
  private let asks: Bool
  init(asks: Bool) { self.asks = asks }

  func decide(_ jobs: [Int], in transaction: Transaction, attempt: Int) async throws -> [Int] {
    if asks { try await transaction.forEach("select 1") { _ in } }
    return jobs
  }
}

@Suite("What it costs to reach PostgreSQL's loop and come back", .serialized, TestPostgres.required)
struct HandOverTests {
  /// Microseconds a job, of so many callers on the loop, each of which submits one after another.
  private func time(_ lane: BatchLane<Int, Int>, on loop: EventLoop, callers: Int, rounds: Int) async throws
    -> Double
  {
    let start = MonotonicTime.now
    try await withThrowingTaskGroup { group in
      for caller in 0..<callers {
        group.addTask(executorPreference: loop) {
          for _ in 0..<rounds {
            let answer = try await lane.submit(caller)
            #expect(answer == caller)
          }
        }
      }
      try await group.waitForAll()
    }
    return (MonotonicTime.now - start) / .microseconds(1) / Double(callers * rounds)
  }

  @Test(
    "the hand-over of a batch, beside a batch that asks the server (decision 0002)", arguments: [true, false])
  func cost(isHome: Bool) async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let test = try await TestDatabase(.postgreSQL, loops: isHome ? loops : nil)
    let empty = test.database.lane({ NoDecider() }, among: { Echo(asks: false) })
    let asking = test.database.lane({ NoDecider() }, among: { Echo(asks: true) })
    for callers in [1, 64] {
      let rounds = callers == 1 ? 1_000 : 50
      _ = try await time(empty, on: loops.loops[0], callers: callers, rounds: 20)
      _ = try await time(asking, on: loops.loops[0], callers: callers, rounds: 20)
      let over = try await time(empty, on: loops.loops[0], callers: callers, rounds: rounds)
      let asked = try await time(asking, on: loops.loops[0], callers: callers, rounds: rounds)
      print(
        "\(callers) at once, \(isHome ? "on the connection's loop" : "on another loop"): "
          + "hand-over \((over * 10).rounded() / 10) us a job, "
          + "with two round trips \((asked * 10).rounded() / 10) us")
    }
    test.database.close()
  }
}
