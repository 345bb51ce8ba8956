package import Admission
package import SQL

/// Jobs in a database that all nodes share.
package struct SQLJobStore: JobStore {
  private let database: Database
  private let clock: LeaseClock

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database, clock: LeaseClock = .database) {
    self.database = database
    self.clock = clock
  }

  package func claim(
    _ job: String, node: String, interval: Int64, lease: Int64, abandoned: JobLease?, now: Int64
  ) async throws -> JobClaim {
    // Most questions come too early, and writing costs: look first. What is seen here decides nothing else.
    let early = try await database.read { transaction in
      let time = try await clock.time(transaction, now: now)
      return try await Self.row(job, transaction)?
        .refusal(abandoned: abandoned, now: time, latest: time.saturatingAdd(interval))
    }
    if let early { return early }
    return try await database.write { transaction in
      let now = try await clock.time(transaction, now: now)
      let latest = now.saturatingAdd(interval)
      var row = try await Self.row(job, transaction, locked: true)
      if row == nil {
        // Another node is at it: whoever waited for it would come too late.
        if let known = try await Self.row(job, transaction) { return .held(known.lease) }
        try await transaction.execute(
          "insert into jobs (name, generation, next_run) values ($1, 0, $2) on conflict (name) do nothing",
          [.text(job), .integer(latest)])
        row = try await Self.row(job, transaction, locked: true)
      }
      guard let row else { return .held(nil) }
      if let refusal = row.refusal(abandoned: abandoned, now: now, latest: latest) { return refusal }
      let until = now.saturatingAdd(lease)
      // The same rule again, in the one statement that takes it.
      let taken = try await transaction.first(
        """
        update jobs set generation = generation + 1, node = $2, leased_until = $3, last_start = $4
        where name = $1
          and (leased_until is null or leased_until <= $4 or (generation = $5 and leased_until = $6))
          and (next_run <= $4 or next_run > $7 or leased_until is not null)
        returning generation
        """,
        [
          .text(job), .text(node), .integer(until), .integer(now),
          .integer(abandoned?.generation ?? -1), .integer(abandoned?.until ?? -1), .integer(latest),
        ]
      ) { $0.int64(0) }
      return taken.map { .taken(JobLease(job: job, generation: $0, until: until)) } ?? .held(row.lease)
    }
  }

  package func renew(_ lease: JobLease, for length: Int64, now: Int64) async throws -> JobLease? {
    try await database.write { transaction in
      let until = try await clock.time(transaction, now: now).saturatingAdd(length)
      let held = try await transaction.execute(
        "update jobs set leased_until = $3 where name = $1 and generation = $2 and leased_until is not null",
        [.text(lease.job), .integer(lease.generation), .integer(until)])
      return held > 0 ? JobLease(job: lease.job, generation: lease.generation, until: until) : nil
    }
  }

  package func finish(
    _ lease: JobLease, _ outcome: JobOutcome, interval: Int64, now: Int64
  ) async throws -> Bool {
    let words =
      switch outcome {
      case .done: "done"
      case .failed(let words): "failed: \(words)"
      }
    return try await database.write { transaction in
      let now = try await clock.time(transaction, now: now)
      return try await transaction.execute(
        """
        update jobs set leased_until = null, last_end = $3, outcome = $4, next_run = $5
        where name = $1 and generation = $2 and leased_until is not null
        """,
        [
          .text(lease.job), .integer(lease.generation), .integer(now), .text(words),
          .integer(now.saturatingAdd(interval)),
        ]) > 0
    }
  }

  package func jobs() async throws -> [JobState] {
    try await database.read { transaction in
      try await transaction.rows(
        """
        select name, node, leased_until, last_start, last_end, outcome, next_run from jobs order by name
        """
      ) {
        JobState(
          name: $0.string(0), node: $0.optionalString(1), leasedUntil: $0.optionalInt64(2),
          lastStart: $0.optionalInt64(3), lastEnd: $0.optionalInt64(4), outcome: $0.optionalString(5),
          nextRun: $0.int64(6))
      }
    }
  }

  private struct Row {
    var job: String
    var generation: Int64
    var leasedUntil: Int64?
    var nextRun: Int64

    var lease: JobLease? { leasedUntil.map { JobLease(job: job, generation: generation, until: $0) } }

    /// Why it cannot be taken; the same rule as the update's.
    func refusal(abandoned: JobLease?, now: Int64, latest: Int64) -> JobClaim? {
      if let lease { return lease.until <= now || lease == abandoned ? nil : .held(lease) }
      return nextRun <= now || nextRun > latest ? nil : .notDue(nextRun)
    }
  }

  /// - Parameter locked: keeps it from others until the end of the transaction; nil where another node has it.
  private static func row(
    _ job: String, _ transaction: Transaction, locked: Bool = false
  ) async throws -> Row? {
    let end = locked ? transaction.skippingLocked : ""
    return try await transaction.first(
      "select generation, leased_until, next_run from jobs where name = $1\(end)", [.text(job)]
    ) {
      Row(job: job, generation: $0.int64(0), leasedUntil: $0.optionalInt64(1), nextRun: $0.int64(2))
    }
  }
}

extension Int64 {
  fileprivate func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
