/// The right to run a job, held by one node at a time. Times are milliseconds since 1970.
package struct JobLease: Sendable, Equatable {
  package var job: String
  /// Counts how often the job was taken: who holds an older number has lost it.
  package var generation: Int64
  /// Until when nobody else may take it.
  package var until: Int64

  package init(job: String, generation: Int64, until: Int64) {
    self.job = job
    self.generation = generation
    self.until = until
  }
}

/// What became of asking for a job.
package enum JobClaim: Sendable, Equatable {
  /// It is this node's, until the lease ends.
  case taken(JobLease)
  /// Another run holds it; nil where another node is taking it at this very moment.
  case held(JobLease?)
  /// It is to run at that time.
  case notDue(Int64)
}

/// How a run ended.
package enum JobOutcome: Sendable, Equatable {
  case done
  /// In the words of the log, without values.
  case failed(String)
}

/// A job as every node sees it.
package struct JobState: Sendable, Equatable {
  package var name: String
  /// Who runs it or ran it last.
  package var node: String?
  /// Set while it runs, or after its node died in it.
  package var leasedUntil: Int64?
  package var lastStart: Int64?
  /// nil before the first run has ended.
  package var lastEnd: Int64?
  /// `done` or what failed, of the last run that ended.
  package var outcome: String?
  package var nextRun: Int64

  package init(
    name: String, node: String?, leasedUntil: Int64?, lastStart: Int64?, lastEnd: Int64?, outcome: String?,
    nextRun: Int64
  ) {
    self.name = name
    self.node = node
    self.leasedUntil = leasedUntil
    self.lastStart = lastStart
    self.lastEnd = lastEnd
    self.outcome = outcome
    self.nextRun = nextRun
  }
}

/// The jobs that run once among all nodes. Each method is one atomic step.
///
/// Where the database has a clock for all nodes, everything is written and judged by that (RULES §5.5), and the
/// callers' `now` by nobody.
package protocol JobStore: Sendable {
  /// Takes the job if it is due and nobody holds it. A job that is not known yet is due one interval from now.
  ///
  /// A job that is to run later than one interval from now is due: the clock went back since. A lease that lies
  /// ahead for the same reason cannot be told from a live one here; see `abandoned`.
  ///
  /// - Parameters:
  ///   - interval: milliseconds from the end of one run to the start of the next.
  ///   - lease: milliseconds that it is held for without being renewed.
  ///   - abandoned: a lease that the caller has seen unchanged for longer than it can last, on a clock that does
  ///     not jump: it is taken over, if it still stands.
  func claim(
    _ job: String, node: String, interval: Int64, lease: Int64, abandoned: JobLease?, now: Int64
  ) async throws -> JobClaim
  /// Holds it for so many milliseconds from now on; nil when it was taken over, and the run has to stop.
  func renew(_ lease: JobLease, for length: Int64, now: Int64) async throws -> JobLease?
  /// Notes how the run ended, gives the job free and has it due in `interval` milliseconds; false when it was
  /// taken over, and nothing is noted.
  func finish(_ lease: JobLease, _ outcome: JobOutcome, interval: Int64, now: Int64) async throws -> Bool
  /// Every job that any node has known, by name.
  func jobs() async throws -> [JobState]
}
