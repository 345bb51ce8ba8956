package import Admission
package import SQL

/// The ledger in a database. Requests that wait together are decided in one transaction.
///
/// A request that was admitted without a lease and holds nothing keeps no reservation: `settle` of it is false
/// and writes no usage.
package struct SQLAdmissionLedger: AdmissionLedger {
  private let database: Database
  private let clock: LeaseClock
  private let lane: BatchLane<LedgerJob, LedgerAnswer>
  private let raised = RaisedAlarms()

  /// Make one for a database: it keeps the rows in use between batches.
  ///
  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database, clock: LeaseClock = .database) {
    self.database = database
    self.clock = clock
    lane = database.lane({ LedgerDecider() }, among: { SharedLedgerDecider(clock) })
  }

  package func admit(_ request: AdmissionRequest) async throws -> AdmissionDecision {
    try await decision(.admit(request))
  }

  package func issueSession(
    _ request: AdmissionRequest, token: SessionToken, atMost: Int
  ) async throws -> AdmissionDecision {
    try await decision(.issueSession(request, token: token, atMost: atMost))
  }

  @discardableResult package func settle(_ settlement: Settlement) async throws -> Bool {
    guard case .done(let done) = try await answer(.settle(settlement)) else { throw LedgerConfusion() }
    return done
  }

  package func renew(_ id: [UInt8], for lease: Int64, now: Int64) async throws -> Bool {
    let job = LedgerJob.renew(id: id, lease: lease, now: now)
    guard case .done(let done) = try await answer(job) else { throw LedgerConfusion() }
    return done
  }

  package func sweep(now: Int64) async throws -> Int {
    let limit = 200
    var swept = 0
    while true {
      guard case .count(let count) = try await answer(.sweep(now: now, limit: limit)) else {
        throw LedgerConfusion()
      }
      swept += count
      if count < limit { break }
    }
    try await LedgerUpkeep.run(database, clock, now: now)
    return swept
  }

  package func forgetUsage(olderThan age: Int64, atMost limit: Int, now: Int64) async throws -> Int {
    // Writing drops the rows that the ledger keeps, so there is none when there is nothing to do.
    let (before, isDue) = try await database.read { transaction in
      let (before, overflow) = try await clock.time(transaction, now: now).subtractingReportingOverflow(age)
      let found = try await transaction.first(
        "select exists (select 1 from usage where started_at < $1)", [.integer(before)]
      ) { $0.bool(0) }
      return (before, !overflow && found == true)
    }
    guard isDue else { return 0 }
    return try await database.write { transaction in
      try await transaction.execute(
        "delete from usage where id in (select id from usage where started_at < $1 order by started_at limit $2)",
        [.integer(before), .integer(Int64(limit))])
    }
  }

  package func knows(tokenHash: [UInt8], now: Int64) async throws -> Bool {
    try await database.read { transaction in
      try await transaction.first(
        """
        select exists (select 1 from session_tokens where hash = $1 and expiry > $2)
          or exists (select 1 from debug_tokens where hash = $1 and expiry > $2)
        """, [.blob(tokenHash), .integer(now)]
      ) { $0.bool(0) } ?? false
    }
  }

  package func remaining(keyID: [UInt8], charges: [Charge], now: Int64) async throws -> [Remaining] {
    let job = LedgerJob.remaining(keyID: keyID, charges: charges, now: now)
    guard case .remaining(let remaining) = try await answer(job) else { throw LedgerConfusion() }
    return remaining
  }

  private func decision(_ job: LedgerJob) async throws -> AdmissionDecision {
    guard case .decision(let decision) = try await answer(job, isBrief: true) else {
      throw LedgerConfusion()
    }
    return decision
  }

  private func answer(_ job: LedgerJob, isBrief: Bool = false) async throws -> LedgerContent {
    let answer = try await lane.submit(job, isBrief: isBrief)
    if !answer.alarms.isEmpty { await raised.add(answer.alarms) }
    return answer.content
  }

  package func takeAlarms() async -> [LimitAlarm] { await raised.take() }
}

/// The decider gave another kind of answer than the job asks: a mistake in this file.
private struct LedgerConfusion: Error {}

/// Alarms whose transactions are committed, until somebody tells of them.
private actor RaisedAlarms {
  /// More than this are in the database alone.
  private static let capacity = 1_000

  private var alarms: [LimitAlarm] = []

  func add(_ more: [LimitAlarm]) { alarms += more.prefix(max(0, Self.capacity - alarms.count)) }

  func take() -> [LimitAlarm] {
    defer { alarms = [] }
    return alarms
  }
}
