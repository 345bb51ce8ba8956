import Admission
import BramleyTesting
import SQL
import Stores
import Testing

@Suite("Throughput of nodes", .serialized, TestPostgres.required) struct NodeThroughputTests {
  /// Admissions a second of 64 tasks, each with a key of its own and one budget for everyone.
  private func rate(
    _ ledgers: [SQLAdmissionLedger], offset: Int, rounds: Int = 20
  ) async throws -> Double {
    let clock = ContinuousClock()
    let time = try await clock.measure {
      try await withThrowingTaskGroup { group in
        for task in 0..<64 {
          group.addTask {
            for round in 1...rounds {
              let charges = [
                Requests.running(1_000), Requests.daily(1_000), Requests.money(1, of: 1 << 40, .everyone),
              ]
              let request = Requests.assertion(
                task, counter: UInt32(offset + round), id: (offset + round) * 100 + task, charges: charges)
              let decision = try await ledgers[task % ledgers.count].admit(request)
              #expect(decision.isAdmitted)
            }
          }
        }
        try await group.waitForAll()
      }
    }
    return Double(64 * rounds) / (time / .seconds(1))
  }

  @Test("One shared budget row: four nodes are no slower than a tenth of one, and never wait in a circle")
  func ratios() async throws {
    let file = try await StoreFixture(.disk)
    try await file.registerMany(64)
    let fixture = try await NodeFixture(nodes: 4)
    try await fixture.register(64)
    let ledgers = fixture.nodes.map(\.ledger)
    _ = try await rate([ledgers[0]], offset: 0, rounds: 2)
    let sqlite = try await rate([file.ledger], offset: 0)
    let one = try await rate([ledgers[0]], offset: 10)
    let four = try await rate(ledgers, offset: 40)
    print(
      "admission: SQLite \(Int(sqlite))/s; PostgreSQL, one node \(Int(one))/s (\(percent(one, sqlite))), "
        + "four nodes \(Int(four))/s (\(percent(four, one)) of one)")
    #expect(four > one / 10)
    let kept = try await fixture.number("select count(*) from reservations")
    #expect(kept == 64 * (2 + 20 + 20))
  }

  private func percent(_ part: Double, _ whole: Double) -> String { "\(Int(part / whole * 100)) %" }
}
