/// Work that outlives the request that began it: settlements after a client has left, periodic jobs.
///
/// Cancelling the task that started such work does not reach it. What runs is counted, so that a server that
/// stops can wait for it.
package final class BackgroundTasks: Sendable {
  private struct State {
    var nextIdentifier: UInt64 = 0
    /// nil until the task, which may have begun to run, is known.
    var running: [UInt64: Task<Void, Never>?] = [:]
    var periodic: [Task<Void, Never>] = []
    var draining = false
    var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]

    mutating func begin() -> UInt64 {
      nextIdentifier += 1
      running[nextIdentifier] = .some(nil)
      return nextIdentifier
    }
  }

  private let group: EventLoopGroup
  private let state = Locked(State())

  /// Work on these loops.
  package init(on group: EventLoopGroup) { self.group = group }

  /// How many pieces of work are under way; periodic ones count while they work.
  package var count: Int { state.withLock { $0.running.count } }

  /// Starts the work on the caller's loop, or the next. It is also taken while the server stops.
  @discardableResult
  package func start(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    run(state.withLock { $0.begin() }, operation)
  }

  private func run(
    _ identifier: UInt64, _ operation: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    let task = group.currentOrNext().run {
      await operation()
      self.finished(identifier)
    }
    state.withLock { if $0.running[identifier] != nil { $0.running[identifier] = .some(task) } }
    return task
  }

  /// Does the work again and again, each time the interval after the last time ended, until ``drain(within:)``.
  /// Ending the server cuts the pause short, not the work.
  package func every(_ interval: Duration, _ operation: @escaping @Sendable () async -> Void) {
    let loop = group.next()
    let task = loop.run {
      while (try? await loop.sleep(for: interval)) != nil {
        guard let identifier = self.state.withLock({ $0.draining ? nil : $0.begin() }) else { return }
        await self.run(identifier, operation).value
      }
    }
    let late = state.withLock { state in
      if !state.draining { state.periodic.append(task) }
      return state.draining
    }
    if late { task.cancel() }
  }

  /// Ends the periodic work and waits until nothing is under way. After the limit what is left is cancelled and
  /// the answer is false.
  package func drain(within limit: Duration) async -> Bool {
    let periodic = state.withLock { state in
      state.draining = true
      defer { state.periodic = [] }
      return state.periodic
    }
    for task in periodic { task.cancel() }
    let loop = group.next()
    return await withCheckedContinuation { continuation in
      let waiter: UInt64? = state.withLock { state in
        if state.running.isEmpty { return nil }
        state.nextIdentifier += 1
        state.waiters[state.nextIdentifier] = continuation
        return state.nextIdentifier
      }
      guard let waiter else { return continuation.resume(returning: true) }
      loop.schedule(after: limit) { self.expired(waiter) }
    }
  }

  private func finished(_ identifier: UInt64) {
    let waiters = state.withLock { state in
      state.running[identifier] = nil
      guard state.running.isEmpty else { return [CheckedContinuation<Bool, Never>]() }
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }

  private func expired(_ waiter: UInt64) {
    let (continuation, left) = state.withLock { state in
      (state.waiters.removeValue(forKey: waiter), state.running.values.compactMap(\.self))
    }
    guard let continuation else { return }
    for task in left { task.cancel() }
    continuation.resume(returning: false)
  }
}
