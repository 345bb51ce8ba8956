import System

/// Something that waits for a connection. Its continuation is resumed exactly once: by `finish` when what it did
/// is durable, or by `fail`.
protocol Job: AnyObject, Sendable {
  /// The lane that decides it together with its like; nil for a job that runs by itself.
  var lane: (any Lane)? { get }
  /// Tells lanes apart; nil for a job that runs by itself.
  var laneID: ObjectIdentifier? { get }
  /// The event loop that submitted it; nil when it came from none.
  var loop: EventLoop? { get }
  /// Whether it takes microseconds beside its commit, and somebody waits for it: a loop may do it in person.
  var isBrief: Bool { get }
  /// Does the work and keeps the result. It may run again after a rollback.
  func run(in transaction: Transaction) async throws
  func finish()
  func fail(_ error: any Error)
}

/// Jobs of one kind that are decided together.
protocol Lane: AnyObject, Sendable {}

/// A lane on SQLite, the writer's.
protocol LocalLane: Lane {
  /// - Parameter othersWrote: whether rows may have changed since this lane's last batch by other hands.
  func decide(_ jobs: [any Job], in transaction: SQLiteTransaction, othersWrote: Bool) throws
  /// The writer's stamp after the lane's last batch.
  var stamp: UInt64 { get set }
}

/// A lane on PostgreSQL, its connection's.
protocol SharedLane: Lane {
  /// - Parameter attempt: 1 for the first at these jobs.
  func decide(_ jobs: [any Job], in transaction: Transaction, attempt: Int) async throws
  /// Whether the batch that was decided last is in the database, after its commit's answer was lost; nil when
  /// that cannot be told.
  func wasCommitted(_ jobs: [any Job], in transaction: Transaction) async throws -> Bool?
}

/// A closure that waits. Between `init` and `finish` only whoever runs it touches it.
@safe final class ClosureJob<Value: Sendable>: Job, @unchecked Sendable {
  private let body: @Sendable (Transaction) async throws -> Value
  private let continuation: UnsafeContinuation<Value, any Error>
  private var value: Value?
  let loop = EventLoop.current

  init(
    _ continuation: UnsafeContinuation<Value, any Error>,
    _ body: @escaping @Sendable (Transaction) async throws -> Value
  ) {
    self.body = body
    unsafe self.continuation = continuation
  }

  var lane: (any Lane)? { nil }
  var laneID: ObjectIdentifier? { nil }
  var isBrief: Bool { false }

  func run(in transaction: Transaction) async throws {
    value = try await body(transaction)
  }

  func finish() {
    if let value {
      unsafe continuation.resume(returning: value)
    } else {
      unsafe continuation.resume(throwing: DatabaseError.closed)
    }
  }

  func fail(_ error: any Error) {
    unsafe continuation.resume(throwing: error)
  }
}
