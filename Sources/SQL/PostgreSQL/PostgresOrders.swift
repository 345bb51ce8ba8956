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
    var waiting: [PostgresOrder] = []
    /// How many of those are gone already.
    var taken = 0
    var idle: [PostgresWorker] = []
    /// Whether a loop looks after those that wait too long.
    var isWatched = false
    var isClosed = false

    /// All are given the same time, so the first to come is the first to go.
    mutating func next() -> PostgresOrder? {
      guard taken < waiting.count else { return nil }
      defer {
        taken += 1
        if taken == waiting.count || taken > 1_000 {
          waiting.removeFirst(taken)
          taken = 0
        }
      }
      return waiting[taken]
    }

    var first: PostgresOrder? { taken < waiting.count ? waiting[taken] : nil }

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
  /// - Parameter again: it was taken before, and has waited longer than all that wait.
  func post(_ order: PostgresOrder, again: Bool = false) -> Bool {
    let (isTaken, worker, isFirst) = state.withLock { state -> (Bool, PostgresWorker?, Bool) in
      if state.isClosed { return (false, nil, false) }
      if let worker = state.takeIdle() { return (true, worker, false) }
      state.waiting.insert(order, at: again ? state.taken : state.waiting.count)
      defer { state.isWatched = true }
      return (true, nil, !state.isWatched)
    }
    worker?.begin(order)
    if isFirst { watch(until: order.deadline) }
    return isTaken
  }

  /// Tells those who wait too long, also while every connection is held.
  private func watch(until deadline: MonotonicTime) {
    loop.schedule(after: deadline - .now) { [weak self] in self?.expire() }
  }

  private func expire() {
    var late: [PostgresOrder] = []
    let next = state.withLock { state -> MonotonicTime? in
      while let first = state.first, first.deadline <= .now, let order = state.next() { late.append(order) }
      state.isWatched = state.first != nil
      return state.first?.deadline
    }
    for order in late { order.giveUp() }
    if let next { watch(until: next) }
  }

  /// The next one for a worker that has done what it had; nil when there is none, and it is noted as idle, or is to end.
  func next(for worker: PostgresWorker) -> PostgresOrder? {
    let (order, isOver) = state.withLock { state -> (PostgresOrder?, Bool) in
      if let order = state.next() { return (order, false) }
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
