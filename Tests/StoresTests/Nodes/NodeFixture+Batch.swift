import Admission
import SQL
import Stores
import System
import Testing

extension NodeFixture {
  /// Has the first node decide all of these in one batch, which gathers while `first`, a request of key 0, waits for its
  /// key's row.
  func inOneBatch<Answer: Sendable>(
    behind first: AdmissionRequest, _ jobs: [@Sendable (SQLAdmissionLedger) async throws -> Answer]
  ) async throws -> [Answer] {
    let loop = try EventLoop()
    defer { loop.stop() }
    let ledger = nodes[0].ledger
    let posted = Locked(false)
    let waiting = "from pg_stat_activity where wait_event_type = 'Lock' and query like '%device_states%'"
    return try await withThrowingTaskGroup(of: (place: Int, answer: Answer?).self) { group in
      try await nodes[1].database.holding("select 1 from device_states order by device for update") {
        group.addTask(executorPreference: loop) {
          let isAdmitted = try await ledger.admit(first).isAdmitted
          #expect(isAdmitted)
          return (0, nil)
        }
        while try await number("select count(*) \(waiting)") == 0 {
          try await Task.sleep(for: .milliseconds(2))
        }
        for (place, job) in jobs.enumerated() {
          group.addTask(executorPreference: loop) { (place, try await job(ledger)) }
        }
        group.addTask(executorPreference: loop) {
          posted.withLock { $0 = true }
          return (0, nil)
        }
        while !posted.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
      }
      var answers: [Int: Answer] = [:]
      for try await found in group { answers[found.place] = found.answer ?? answers[found.place] }
      return jobs.indices.compactMap { answers[$0] }
    }
  }
}
