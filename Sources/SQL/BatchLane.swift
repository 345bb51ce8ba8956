import System

/// Decides jobs of one kind a whole batch at a time on SQLite: load each row once, decide job after job, write each
/// changed row once. It is the writer's, in the hands of one thread at a time, and may keep rows between batches.
package protocol BatchDecider: AnyObject {
  associatedtype Job: Sendable
  associatedtype Answer: Sendable

  /// One answer for each job, in their order; they leave after the commit. When it throws, everything is rolled
  /// back and each job is decided again by itself.
  ///
  /// - Parameter othersWrote: rows kept from an earlier batch may be stale, because another job, another
  ///   process or a rollback has changed them since. Also true for the first batch.
  func decide(_ jobs: [Job], in transaction: SQLiteTransaction, othersWrote: Bool) throws -> [Answer]
}

/// The same on PostgreSQL, where other nodes decide at the same time: it locks the rows that it reads (`for update`), in
/// one order, and keeps none that can change, unless as a guess which the rows correct. It is its connection's.
package protocol SharedBatchDecider: AnyObject {
  associatedtype Job: Sendable
  associatedtype Answer: Sendable

  /// As ``BatchDecider/decide(_:in:othersWrote:)``. After ``BeginAnew`` and `DatabaseError.conflict` the same jobs come
  /// again.
  ///
  /// - Parameter attempt: 1 where the jobs come for the first time, whatever became of those before them.
  func decide(_ jobs: [Job], in transaction: Transaction, attempt: Int) async throws -> [Answer]

  /// Whether the batch that was decided last is in the database, after the answer to its commit was lost on the
  /// network; nil when that cannot be told.
  func wasCommitted(_ jobs: [Job], _ answers: [Answer], in transaction: Transaction) async throws -> Bool?
}

/// The attempt has shown what else the batch needs: everything is rolled back, and the same jobs come again at once. It
/// does not count among the attempts at which others may be in the way, so each has to show something new.
package struct BeginAnew: Error {
  package init() {}
}

extension SharedBatchDecider {
  package func wasCommitted(
    _ jobs: [Job], _ answers: [Answer], in transaction: Transaction
  ) async throws -> Bool? { nil }
}

/// The way to a batch decider from any task.
package struct BatchLane<Job: Sendable, Answer: Sendable>: Sendable {
  private let queue: any JobQueue
  private let lane: any Lane

  init(_ queue: any JobQueue, _ lane: any Lane) {
    self.queue = queue
    self.lane = lane
  }

  /// Waits until the job is decided and its batch is durable.
  ///
  /// - Parameter isBrief: it takes microseconds beside its commit, and somebody waits for it. An event loop with
  ///   little else to do may then decide and commit it in person.
  package func submit(_ job: Job, isBrief: Bool = false) async throws -> Answer {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      let submission = unsafe Submission<Job, Answer>(job, isBrief: isBrief, on: lane, continuation)
      if !queue.post(submission) { submission.fail(DatabaseError.closed) }
    }
  }
}

/// A job on a lane. Between `init` and `finish` only whoever decides touches it.
@safe final class Submission<Submitted: Sendable, Answer: Sendable>: Job, @unchecked Sendable {
  let job: Submitted
  var answer: Answer?
  let lane: (any Lane)?
  let laneID: ObjectIdentifier?
  let loop = EventLoop.current
  let isBrief: Bool
  private let continuation: UnsafeContinuation<Answer, any Error>

  init(
    _ job: Submitted, isBrief: Bool, on lane: any Lane, _ continuation: UnsafeContinuation<Answer, any Error>
  ) {
    self.job = job
    self.isBrief = isBrief
    self.lane = lane
    laneID = ObjectIdentifier(lane)
    unsafe self.continuation = continuation
  }

  func run(in transaction: Transaction) throws {}

  func finish() {
    if let answer {
      unsafe continuation.resume(returning: answer)
    } else {
      unsafe continuation.resume(throwing: DatabaseError.closed)
    }
  }

  func fail(_ error: any Error) {
    unsafe continuation.resume(throwing: error)
  }
}

extension Submission {
  /// Only `BatchLane.submit` makes jobs that name a lane, and of its type; a checked cast of each job would cost as
  /// much as deciding it.
  static func of(_ job: any SQL.Job) -> Submission<Submitted, Answer> {
    unsafe unsafeDowncast(job, to: Submission<Submitted, Answer>.self)
  }

  static func note(_ answers: [Answer], of jobs: [any SQL.Job]) throws(DatabaseError) {
    guard answers.count == jobs.count else {
      throw .miscounted(jobs: jobs.count, answers: answers.count)
    }
    for (job, answer) in zip(jobs, answers) { of(job).answer = answer }
  }
}

/// A decider on SQLite, made and used by whoever is the writer.
@safe final class LocalDecider<Decider: BatchDecider>: LocalLane, @unchecked Sendable {
  private let make: @Sendable () -> Decider
  private var decider: Decider?
  var stamp: UInt64 = 0

  init(_ make: @escaping @Sendable () -> Decider) {
    self.make = make
  }

  func decide(_ jobs: [any Job], in transaction: SQLiteTransaction, othersWrote: Bool) throws {
    let decider = self.decider ?? make()
    self.decider = decider
    let answers = try decider.decide(
      jobs.map { Submission<Decider.Job, Decider.Answer>.of($0).job }, in: transaction,
      othersWrote: othersWrote)
    try Submission<Decider.Job, Decider.Answer>.note(answers, of: jobs)
  }
}

/// A decider among nodes, made and used by its connection.
@safe final class SharedDecider<Decider: SharedBatchDecider>: SharedLane, @unchecked Sendable {
  private let make: @Sendable () -> Decider
  private var decider: Decider?

  init(_ make: @escaping @Sendable () -> Decider) {
    self.make = make
  }

  func decide(_ jobs: [any Job], in transaction: Transaction, attempt: Int) async throws {
    let decider = self.decider ?? make()
    self.decider = decider
    let answers = try await decider.decide(
      jobs.map { Submission<Decider.Job, Decider.Answer>.of($0).job }, in: transaction, attempt: attempt)
    try Submission<Decider.Job, Decider.Answer>.note(answers, of: jobs)
  }

  func wasCommitted(_ jobs: [any Job], in transaction: Transaction) async throws -> Bool? {
    let submissions = jobs.map { Submission<Decider.Job, Decider.Answer>.of($0) }
    let answers = submissions.compactMap(\.answer)
    guard let decider, answers.count == jobs.count else { return nil }
    return try await decider.wasCommitted(submissions.map(\.job), answers, in: transaction)
  }
}
