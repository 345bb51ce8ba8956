/// Runs async closures to their end on the thread that asks: for those that wait for nothing, because what they call
/// is answered there and then.
///
/// It belongs to one thread at a time. A closure that waits for something all the same holds its thread until that has
/// happened; in debug builds this is a failure.
package final class InlineExecutor: TaskExecutor, @unchecked Sendable {
  private let monitor = Monitor()
  private var jobs: [UnownedJob] = []
  private var isDone = false

  package init() {}

  /// Takes a task's next piece (SE-0417).
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    monitor.withLock { jobs.append(job) }
    monitor.signal()
  }

  /// Returns when the closure has ended.
  package func run(_ body: @escaping @Sendable () async -> Void) {
    monitor.withLock { isDone = false }
    Task(executorPreference: self) {
      await body()
      self.monitor.withLock { self.isDone = true }
    }
    while let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  /// nil when the closure has ended. The piece that says so is the last.
  private func next() -> UnownedJob? {
    monitor.withLock {
      while jobs.isEmpty {
        if isDone { return nil }
        assertionFailure("it waits for something else")
        monitor.wait()
      }
      return jobs.removeFirst()
    }
  }
}
