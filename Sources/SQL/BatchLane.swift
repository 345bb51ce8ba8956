import System

/// Decides jobs of one kind a whole batch at a time: load each row once, decide job after job, write each changed
/// row once. It is the writer's, in the hands of one thread at a time, and may keep rows between batches.
///
/// On PostgreSQL other nodes decide at the same time: a decider locks the rows that it reads (`for update`), in one
/// order, and keeps none that can change, unless as a guess which the rows correct.
package protocol BatchDecider: AnyObject {
  associatedtype Job: Sendable
  associatedtype Answer: Sendable

  /// One answer for each job, in their order; they leave after the commit. When it throws, everything is rolled
  /// back and each job is decided again by itself.
  ///
  /// - Parameter othersWrote: rows kept from an earlier batch may be stale, because another job, another
  ///   process or a rollback has changed them since. Also true for the first batch.
  func decide(_ jobs: [Job], in transaction: Transaction, othersWrote: Bool) throws -> [Answer]

  /// Whether the batch that was decided last is in the database, after the answer to its commit was lost on the
  /// network; nil when that cannot be told.
  func wasCommitted(_ jobs: [Job], _ answers: [Answer], in transaction: Transaction) throws -> Bool?
}

extension BatchDecider {
  package func wasCommitted(
    _ jobs: [Job], _ answers: [Answer], in transaction: Transaction
  ) throws -> Bool? { nil }
}

/// The way to a batch decider from any task.
package struct BatchLane<Job: Sendable, Answer: Sendable>: Sendable {
  private let queue: any JobQueue
  private let lane: any SubmissionLane<Job, Answer>

  init<Decider: BatchDecider>(_ queue: any JobQueue, _ make: @escaping @Sendable () -> Decider)
  where Decider.Job == Job, Decider.Answer == Answer {
    self.queue = queue
    lane = DeciderLane(make)
  }

  /// Waits until the job is decided and its batch is durable.
  ///
  /// - Parameter isBrief: it takes microseconds beside its commit, and somebody waits for it. An event loop with
  ///   little else to do may then decide and commit it in person.
  package func submit(_ job: Job, isBrief: Bool = false) async throws -> Answer {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      let submission = unsafe Submission(job, isBrief: isBrief, on: lane, continuation)
      if !queue.post(submission) { submission.fail(DatabaseError.closed) }
    }
  }
}

protocol SubmissionLane<Submitted, Answer>: Lane {
  associatedtype Submitted: Sendable
  associatedtype Answer: Sendable
}

/// A job on a lane. Between `init` and `finish` only the writer touches it.
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

/// The decider is made and used on the writer's thread only.
@safe private final class DeciderLane<Decider: BatchDecider>: SubmissionLane, @unchecked Sendable {
  typealias Submitted = Decider.Job
  typealias Answer = Decider.Answer

  private let make: @Sendable () -> Decider
  private var decider: Decider?
  var stamp: UInt64 = 0

  init(_ make: @escaping @Sendable () -> Decider) {
    self.make = make
  }

  func decide(_ jobs: [any Job], in transaction: Transaction, othersWrote: Bool) throws {
    let decider = self.decider ?? make()
    self.decider = decider
    let answers = try decider.decide(
      jobs.map { Self.submission($0).job }, in: transaction, othersWrote: othersWrote)
    guard answers.count == jobs.count else {
      throw DatabaseError.miscounted(jobs: jobs.count, answers: answers.count)
    }
    for (job, answer) in zip(jobs, answers) { Self.submission(job).answer = answer }
  }

  func wasCommitted(_ jobs: [any Job], in transaction: Transaction) throws -> Bool? {
    let submissions = jobs.map { Self.submission($0) }
    let answers = submissions.compactMap(\.answer)
    guard let decider, answers.count == jobs.count else { return nil }
    return try decider.wasCommitted(submissions.map(\.job), answers, in: transaction)
  }

  /// Only `BatchLane.submit` makes jobs that name a lane, and of this type; a checked cast of each job would cost
  /// as much as deciding it.
  private static func submission(_ job: any SQL.Job) -> Submission<Submitted, Answer> {
    unsafe unsafeDowncast(job, to: Submission<Submitted, Answer>.self)
  }
}
