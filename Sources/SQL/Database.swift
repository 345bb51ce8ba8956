package import System

/// A database: on SQLite one writer with group commit and readers beside it, on PostgreSQL a pool of connections.
///
/// A closure given to it may run more than once, on SQLite on a database thread; it must wait for nothing but the
/// database, nor have effects outside. Checks come before writes: a job that throws before it wrote costs its batch
/// nothing.
package final class Database: Sendable {
  private enum Engine: Sendable {
    case sqlite(writes: WriterQueue, reads: Mailbox<any Job>?)
    case postgreSQL(PostgresPool)
  }

  private let engine: Engine
  /// Which SQL it speaks.
  package let dialect: Dialect

  /// Opens it: a file's threads are started, a server is connected to with the first transaction.
  ///
  /// - Parameter loops: on which a PostgreSQL server's connections are; nil for one of its own. They are stopped after
  ///   it is closed.
  /// - Throws: `cannotOpen`, `readOnly`, `corrupt` … with the path.
  package init(
    _ location: DatabaseLocation, tuning: DatabaseTuning = DatabaseTuning(), loops: EventLoopGroup? = nil
  ) throws(DatabaseError) {
    dialect = location.dialect
    if case .postgreSQL(let settings) = location {
      engine = .postgreSQL(try PostgresPool(settings, on: loops))
      return
    }
    let connection = try Connection(location, role: .writer, tuning: tuning)
    var readers: [Connection] = []
    if location != .memory {
      for _ in 0..<max(tuning.readers, 0) {
        readers.append(try Connection(location, role: .reader, tuning: tuning))
      }
    }
    let writes = WriterQueue(
      Writer(
        connection, checkpointPages: location.keepsLog ? tuning.checkpointPages : 0,
        pace: CommitPace(limit: tuning.loopPatience)),
      limit: max(tuning.batchLimit, 1))
    let reads = readers.isEmpty ? nil : Mailbox<any Job>()
    var hasThreads = Worker.start { writes.work() }
    for reader in readers {
      if let reads { hasThreads = hasThreads && Self.start(reader) { Reader($0, reads).run() } }
    }
    guard hasThreads else {
      // Without them it would take jobs and answer none.
      writes.close()
      reads?.close()
      throw .cannotOpen(path: location.name, reason: "the system gives no thread")
    }
    engine = .sqlite(writes: writes, reads: reads)
  }

  deinit {
    close()
  }

  /// Ends it after what was submitted is done; later calls throw `closed`.
  package func close() {
    switch engine {
    case .sqlite(let writes, let reads):
      writes.close()
      reads?.close()
    case .postgreSQL(let pool): pool.close()
    }
  }

  /// Runs the closure in a transaction that it shares with others; returns when that is durable.
  package func write<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) async throws -> Value
  ) async throws -> Value {
    try await submit(body, isReading: false)
  }

  /// Runs the closure in a snapshot of what is committed.
  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) async throws -> Value
  ) async throws -> Value {
    try await submit(body, isReading: true)
  }

  /// A lane of its own for jobs of one kind, decided by one on SQLite and by the other among PostgreSQL's nodes. What
  /// makes it is called where it works.
  package func lane<Local: BatchDecider, Shared: SharedBatchDecider>(
    _ local: @escaping @Sendable () -> Local, among shared: @escaping @Sendable () -> Shared
  ) -> BatchLane<Local.Job, Local.Answer> where Shared.Job == Local.Job, Shared.Answer == Local.Answer {
    switch engine {
    case .sqlite(let writes, _): BatchLane(writes, LocalDecider(local))
    case .postgreSQL(let pool): BatchLane(pool.lane(), SharedDecider(shared))
    }
  }

  /// What went to the server; nil on SQLite.
  package var traffic: PostgresTraffic? {
    if case .postgreSQL(let pool) = engine { pool.traffic } else { nil }
  }

  private func submit<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) async throws -> Value, isReading: Bool
  ) async throws -> Value {
    try await unsafe withUnsafeThrowingContinuation { continuation in
      let job = unsafe ClosureJob(continuation, body)
      let isTaken =
        switch engine {
        case .sqlite(_, let reads?) where isReading: reads.post(job)
        case .sqlite(let writes, _): writes.post(job)
        case .postgreSQL(let pool): pool.post(job, isReading: isReading)
        }
      if !isTaken { job.fail(DatabaseError.closed) }
    }
  }

  /// Hands a connection over to a thread; nobody else keeps it.
  private static func start(
    _ connection: Connection, _ body: @escaping @Sendable (Connection) -> Void
  ) -> Bool {
    let handed = Handed(connection)
    return Worker.start { body(handed.connection) }
  }

  @safe private final class Handed: @unchecked Sendable {
    let connection: Connection
    init(_ connection: Connection) { self.connection = connection }
  }
}
