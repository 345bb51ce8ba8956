package import Admission

/// Runs a job that is one node's at a time: takes its lease, renews that while the work goes on, and notes how
/// it ended. A node that dies in it loses it when the lease ends; one that lost its lease stops working.
///
/// One runner looks after one job.
package actor JobRunner {
  /// What it takes from outside, as ``Environment`` has it.
  package struct Context: Sendable {
    package var store: any JobStore
    /// Tells this process from every other.
    package var node: String
    /// The wall clock, milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// A clock that never goes back, nanoseconds since some instant.
    package var uptime: @Sendable () -> Int64
    /// Waits; throws when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Told of what the store could not do, with the job's name.
    package var failed: @Sendable (String, any Error) -> Void
    /// Milliseconds that a lease lasts unless it is renewed; it is renewed three times in that.
    package var lease: Int64 = 90_000

    package init(
      store: any JobStore, node: String, now: @escaping @Sendable () -> Int64,
      uptime: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (Duration) async throws -> Void,
      failed: @escaping @Sendable (String, any Error) -> Void
    ) {
      self.store = store
      self.node = node
      self.now = now
      self.uptime = uptime
      self.sleep = sleep
      self.failed = failed
    }
  }

  /// What became of an attempt.
  package enum Attempt: Sendable, Equatable {
    case ran(JobOutcome)
    /// It ran, and another node took it over meanwhile.
    case lost
    case heldElsewhere
    case notDue
    /// The store did not answer; nothing ran, or how it ended is not noted.
    case unknown
  }

  private let job: Job
  private let context: Context
  /// A lease of somebody else, and when it was first seen as it is.
  private var watched: (lease: JobLease, since: Int64)?

  package init(_ job: Job, _ context: Context) {
    self.job = job
    self.context = context
  }

  /// How often to attempt, so that a job starts soon after it is due.
  package nonisolated var pause: Duration { .seconds(min(max(job.interval / 4, 1), 60)) }

  /// Runs the job if it is due and nobody else's.
  @discardableResult package func attempt() async -> Attempt {
    do {
      let claim = try await context.store.claim(
        job.name, node: context.node, interval: milliseconds, lease: context.lease, abandoned: abandoned(),
        now: context.now())
      switch claim {
      case .taken(let lease):
        watched = nil
        return try await run(lease)
      case .held(let lease):
        if let lease, watched?.lease != lease { watched = (lease, context.uptime()) }
        return .heldElsewhere
      case .notDue:
        watched = nil
        return .notDue
      }
    } catch {
      if !(error is CancellationError) { context.failed(job.name, error) }
      return .unknown
    }
  }

  private var milliseconds: Int64 { job.interval.multipliedReportingOverflow(by: 1_000).partialValue }

  /// A lease that nobody renewed for as long as it lasts, whatever the wall clock says meanwhile.
  private func abandoned() -> JobLease? {
    guard let watched else { return nil }
    let (age, overflow) = context.uptime().subtractingReportingOverflow(watched.since)
    return !overflow && age / 1_000_000 > context.lease ? watched.lease : nil
  }

  private func run(_ lease: JobLease) async throws -> Attempt {
    let (job, context) = (job, context)
    let outcome = await withTaskGroup(of: JobOutcome?.self) { group in
      group.addTask { await job.run() }
      group.addTask {
        await Self.hold(lease, context, job.name)
        return nil
      }
      // The work ended, or the lease is gone and the work has to stop.
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    guard let outcome else { return .lost }
    let noted = try await context.store.finish(
      lease, outcome, interval: milliseconds, now: context.now())
    return noted ? .ran(outcome) : .lost
  }

  /// Renews the lease; returns when it is lost, or when the task is cancelled.
  private static func hold(_ lease: JobLease, _ context: Context, _ name: String) async {
    var failures = 0
    while (try? await context.sleep(.milliseconds(context.lease / 3))) != nil {
      do {
        guard try await context.store.renew(lease, for: context.lease, now: context.now()) != nil else {
          return
        }
        failures = 0
      } catch {
        failures += 1
        context.failed(name, error)
        // Nobody may know that it still runs: after a whole lease without a renewal another node may have it.
        if failures >= 2 { return }
      }
    }
  }
}
