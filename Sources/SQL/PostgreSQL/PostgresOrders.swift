import System

/// A job that waits for one of the pool's connections.
struct PostgresOrder: Sendable {
  var job: any Job
  var isReading: Bool
  /// When it is given up unless it was begun.
  var deadline: MonotonicTime

  func giveUp() { job.fail(DatabaseError.unavailable("no connection was free in time")) }
}

/// What waits for the pool's connections, and which of these have nothing to do.
final class PostgresOrders: Sendable {
  private struct State {
    var waiting = WaitingList<PostgresOrder>()
    var idle: [PostgresWorker] = []
    var isClosed = false

    /// One with a connection before one without, and of these one of the caller's loop.
    mutating func takeIdle() -> PostgresWorker? {
      let current = EventLoop.current
      func rank(_ worker: PostgresWorker) -> Int {
        (worker.isConnected ? 2 : 0) + (worker.loop === current ? 1 : 0)
      }
      guard let best = idle.indices.max(by: { rank(idle[$0]) < rank(idle[$1]) }) else { return nil }
      return idle.remove(at: best)
    }
  }

  private let state = Locked(State())
  private let loop: EventLoop
  /// Of those that were in each other's way.
  let turn = PostgresTurn()

  init(watchedBy loop: EventLoop) { self.loop = loop }

  /// False when closed: the order was not taken.
  ///
  /// - Parameter again: it was taken before.
  func post(_ order: PostgresOrder, again: Bool = false) -> Bool {
    let (isTaken, worker, watch) = state.withLock { state -> (Bool, PostgresWorker?, MonotonicTime?) in
      if state.isClosed { return (false, nil, nil) }
      if let worker = state.takeIdle() { return (true, worker, nil) }
      if again {
        state.waiting.giveBack(order, until: order.deadline)
      } else {
        state.waiting.append(order, until: order.deadline)
      }
      return (true, nil, state.waiting.newWatch())
    }
    worker?.begin(order)
    if let watch { self.watch(until: watch) }
    return isTaken
  }

  /// Tells those who wait too long, also while every connection is held.
  private func watch(until deadline: MonotonicTime) {
    loop.schedule(after: deadline - .now) { [weak self] in self?.expire() }
  }

  private func expire() {
    let (late, next) = state.withLock { ($0.waiting.takeLate(.now), $0.waiting.newWatch()) }
    for order in late { order.giveUp() }
    if let next { watch(until: next) }
  }

  /// The next one for a worker that has done what it had; nil when there is none, and it is noted as idle, or is to end.
  func next(for worker: PostgresWorker) -> PostgresOrder? {
    let (order, isOver) = state.withLock { state -> (PostgresOrder?, Bool) in
      if let order = state.waiting.take(1).first { return (order, false) }
      if !state.isClosed { state.idle.append(worker) }
      return (nil, state.isClosed)
    }
    if isOver { worker.end() }
    return order
  }

  /// Takes one that has just been made.
  func add(_ worker: PostgresWorker) { state.withLock { $0.idle.append(worker) } }

  /// Refuses what comes; what is there is still done.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
    for worker in idle { worker.end() }
  }
}
