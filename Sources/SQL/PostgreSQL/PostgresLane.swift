import System

/// The connection of one lane, on an event loop: everything that waits is decided in one transaction, and while it
/// commits the next batch gathers. The decider locks its rows in one order, so that nodes never wait in a circle.
@safe final class PostgresLane: JobQueue, @unchecked Sendable {
  private struct Waiting {
    var jobs = WaitingList<any Job>()
    var isWorking = false
    /// Whether a loop sees to it when its turn ends, so that all requests of the turn share a commit.
    var isStartComing = false
    var isClosed = false
  }

  private let loop: EventLoop
  private let settings: PostgresSettings
  private let reach: PostgresReach
  private let life: PostgresLife
  private let waiting = Locked(Waiting())
  /// The loop's.
  private var connection: PostgresConnection?

  /// At which others may be in the way.
  private static let attempts = 8
  /// More often a batch does not begin anew for what it has learned; a decider learns an end sooner.
  private static let lessons = 32

  init(on loop: EventLoop, _ settings: PostgresSettings, _ reach: PostgresReach, _ life: PostgresLife) {
    self.loop = loop
    self.settings = settings
    self.reach = reach
    self.life = life
  }

  /// From any thread.
  func post(_ job: any Job) -> Bool {
    let deadline = MonotonicTime.now + .milliseconds(settings.waitTimeout)
    let (isTaken, starts, watch) = waiting.withLock { waiting -> (Bool, Bool, MonotonicTime?) in
      if waiting.isClosed { return (false, false, nil) }
      waiting.jobs.append(job, until: deadline)
      let watch = waiting.jobs.newWatch()
      guard !waiting.isWorking, !waiting.isStartComing else { return (true, false, watch) }
      waiting.isStartComing = true
      return (true, !EndOfTurn.run { self.start() }, watch)
    }
    if starts { start() }
    if let watch { self.watch(until: watch) }
    return isTaken
  }

  /// Tells those who wait too long, also while a batch before them gets no answer.
  private func watch(until deadline: MonotonicTime) {
    loop.schedule(after: deadline - .now) { [weak self] in self?.expire() }
  }

  private func expire() {
    let (late, next) = waiting.withLock { ($0.jobs.takeLate(.now), $0.jobs.newWatch()) }
    for job in late { job.fail(DatabaseError.unavailable("what came before is not answered in time")) }
    if let next { watch(until: next) }
  }

  /// Before anything is posted: it was made too late.
  func refuse() { waiting.withLock { $0.isClosed = true } }

  /// Refuses what comes; what is there is still done.
  func close() {
    let isOver = waiting.withLock { waiting in
      if waiting.isClosed { return false }
      waiting.isClosed = true
      return !waiting.isWorking && !waiting.isStartComing
    }
    if isOver { loop.perform { self.end() } }
  }

  private func start() {
    waiting.withLock {
      $0.isStartComing = false
      $0.isWorking = true
    }
    loop.run { await self.work() }
  }

  /// Until nothing waits.
  private func work() async {
    while let jobs = take() { await commit(jobs) }
  }

  private func take() -> [any Job]? {
    let limit = max(settings.batchLimit, 1)
    let (jobs, isOver) = waiting.withLock { waiting -> ([any Job]?, Bool) in
      if waiting.jobs.isEmpty {
        waiting.isWorking = false
        return (nil, waiting.isClosed)
      }
      return (waiting.jobs.take(limit), false)
    }
    if isOver { end() }
    return jobs
  }

  private func end() {
    keep(nil)
    life.end()
  }

  private func commit(_ jobs: [any Job]) async {
    guard let lane = jobs.first?.lane as? any SharedLane else { return }
    var attempt = 0
    var lessons = 0
    var failures = 0
    while true {
      let isFresh = connection == nil
      do {
        try await transact { transaction in
          attempt += 1
          try await lane.decide(jobs, in: transaction, attempt: attempt)
        }
        Answers.finish(jobs)
        return
      } catch is BeginAnew where lessons < Self.lessons {
        lessons += 1
      } catch {
        failures += 1
        switch error as? DatabaseError {
        case .conflict? where failures < Self.attempts:
          try? await loop.sleep(for: .microseconds(Int.random(in: 500...2_000) * failures))
        case .unavailable? where connection == nil && !isFresh && failures == 1:
          break
        case .outcomeUnknown?:
          switch await wasCommitted(jobs, lane) {
          case true?:
            Answers.finish(jobs)
            return
          case false? where failures < Self.attempts: break
          default:
            for job in jobs { job.fail(error) }
            return
          }
        case .constraint? where jobs.count == 1 && failures < 3:
          // Somebody wrote between the look and the commit: the second look finds it.
          break
        case .unavailable?, .timedOut?, .conflict?, .readOnly?, .diskFull?:
          for job in jobs { job.fail(error) }
          return
        default:
          guard jobs.count > 1 else {
            jobs.first?.fail(error is BeginAnew ? DatabaseError.conflict : error)
            return
          }
          for job in jobs { await commit([job]) }
          return
        }
      }
    }
  }

  /// Asks the database, when the answer to a commit was lost; nil when that cannot be known.
  private func wasCommitted(_ jobs: [any Job], _ lane: any SharedLane) async -> Bool? {
    let deadline = MonotonicTime.now + .milliseconds(settings.statementTimeout)
    for round in 0..<20 where round == 0 || .now < deadline {
      if round > 0 { try? await loop.sleep(for: .milliseconds(100)) }
      var found: Bool?
      do {
        try await transact { found = try await lane.wasCommitted(jobs, in: $0) }
        return found
      } catch {
        continue
      }
    }
    return nil
  }

  private func transact(_ body: (Transaction) async throws -> Void) async throws {
    let open: PostgresConnection
    var isAnnounced = connection != nil
    if let connection { open = connection } else { open = try await reach.connect(settings, on: loop) }
    keep(open)
    do {
      if !isAnnounced { try await Silence.announce(open) }
      isAnnounced = true
      open.begin("isolation level read committed", syncs: .commit)
      try await body(Transaction(open))
      try await open.commit()
    } catch {
      await open.rollback()
      if open.isBroken || !isAnnounced {
        keep(nil)
      } else if error as? DatabaseError == .timedOut {
        await Silence.end(settings, on: open)
      }
      throw error
    }
  }

  private func keep(_ open: PostgresConnection?) {
    if open == nil { connection?.leave() }
    connection = open
  }
}
