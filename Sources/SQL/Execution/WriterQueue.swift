import System

/// Jobs on their way to the writer, and who is the writer at the moment: the thread that runs ``work()``, or, for
/// one job, the event loop that submitted it.
///
/// Two hand-overs between threads cost as much as the sync of a commit. So a loop that submitted a single brief
/// job, that serves few others and has nothing else ready, does it in person while the thread sleeps. Whatever
/// comes meanwhile, from whichever loop, waits for the thread: under load all is as if loops never did. A loop
/// waits for the disk alone, and only while that is quick (``CommitPace``); never for another process.
@safe final class WriterQueue: JobQueue, @unchecked Sendable {
  private let monitor = Monitor()
  private let limit: Int
  private var jobs: [any Job] = []
  /// Belongs to the thread while that is awake, and to a loop while `isLed`; nil once the thread has ended.
  private var writer: Writer?
  private var isAsleep = false
  private var isLed = false
  private var wakeIsComing = false
  private var isUntidy = false
  private var closed = false

  /// A loop that serves more requests than this at the moment leaves the work to the thread.
  private static let fewEngagements = 4

  /// - Parameter limit: the most jobs that share a commit.
  init(_ writer: Writer, limit: Int) {
    self.writer = writer
    self.limit = limit
  }

  func post(_ job: any Job) -> Bool {
    let (isTaken, wakes) = monitor.withLock { () -> (Bool, Bool) in
      if closed { return (false, false) }
      jobs.append(job)
      guard isAsleep, !isLed, !wakeIsComing else { return (true, false) }
      wakeIsComing = EndOfTurn.run { self.turnEnded() }
      return (true, !wakeIsComing)
    }
    if wakes { monitor.signal() }
    return isTaken
  }

  /// Refuses what comes; what is there is still done.
  func close() {
    monitor.withLock { closed = true }
    monitor.broadcast()
  }

  // MARK: The thread

  /// Until the queue is closed and empty.
  func work() {
    while let (writer, jobs) = take() {
      if !jobs.isEmpty { writer.commit(jobs) }
      writer.tidy()
    }
  }

  /// Waits for jobs, or, with none, for something to tidy.
  private func take() -> (Writer, [any Job])? {
    var end: Writer?
    let taken = monitor.withLock { () -> (Writer, [any Job])? in
      while true {
        if !isLed, let writer {
          if !jobs.isEmpty { return (writer, takeJobs()) }
          if isUntidy {
            isUntidy = false
            return (writer, [])
          }
          if closed {
            // The last reference goes on this thread: closing the database's file may take long.
            end = writer
            self.writer = nil
            return nil
          }
        }
        isAsleep = true
        monitor.wait()
        isAsleep = false
      }
    }
    _ = end
    return taken
  }

  private func takeJobs() -> [any Job] {
    if jobs.count <= limit {
      let taken = jobs
      jobs = []
      jobs.reserveCapacity(taken.count)
      return taken
    }
    let taken = Array(jobs.prefix(limit))
    jobs.removeFirst(limit)
    return taken
  }

  // MARK: A loop

  /// What the loop that submitted does when its turn ended: it looks once more whether anything else is ready
  /// before it does the job in person; or it wakes the thread.
  private func turnEnded() {
    let isAlone = monitor.withLock { mayLead }
    if isAlone, EndOfTurn.run({ self.nextTurnEnded() }) { return }
    wake()
  }

  private func nextTurnEnded() {
    let lead = monitor.withLock { () -> (Writer, any Job)? in
      guard mayLead, jobs.first?.loop?.isQuiet == true, let writer, let job = jobs.popLast() else {
        return nil
      }
      wakeIsComing = false
      isLed = true
      return (writer, job)
    }
    guard let (writer, job) = lead else { return wake() }
    let isDone = writer.commit([job], waiting: false)
    let wakes = monitor.withLock { () -> Bool in
      isLed = false
      if !isDone { jobs.insert(job, at: 0) }
      if writer.isUntidy { isUntidy = true }
      return !jobs.isEmpty || isUntidy || closed
    }
    if wakes { monitor.signal() }
  }

  private func wake() {
    let wakes = monitor.withLock { () -> Bool in
      wakeIsComing = false
      return isAsleep && !isLed && !jobs.isEmpty
    }
    if wakes { monitor.signal() }
  }

  /// Under the lock, on the loop that was to wake the thread.
  private var mayLead: Bool {
    guard isAsleep, !isLed, !isUntidy, jobs.count == 1, let job = jobs.first, job.isBrief,
      let loop = job.loop,
      let writer
    else { return false }
    return loop.isCurrent && loop.engagements <= Self.fewEngagements && writer.pace.isQuick
  }
}
