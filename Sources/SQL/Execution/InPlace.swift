import System

/// Runs closures on SQLite, where nothing is waited for, on the thread that asks.
final class InPlace {
  private let executor = InlineExecutor()

  /// Throws what the job throws.
  func run(_ job: any Job, on connection: Connection) throws {
    let attempt = Attempt(job, connection)
    executor.run { await attempt.run() }
    if let error = attempt.error { throw error }
  }

  /// Handed to a task that runs on the same thread.
  @safe private final class Attempt: @unchecked Sendable {
    private let job: any Job
    private let connection: Connection
    private(set) var error: (any Error)?

    init(_ job: any Job, _ connection: Connection) {
      self.job = job
      self.connection = connection
    }

    func run() async {
      do {
        try await job.run(in: Transaction(connection))
      } catch {
        self.error = error
      }
    }
  }
}
