import System

/// The socket of a connection, watched by the event loop that the connection belongs to.
///
/// The loop is told what to watch only when that changes, and the timer is set anew only when it fires too early: a
/// flight usually costs neither.
@safe final class PostgresSocket: @unchecked Sendable {
  enum Outcome {
    case ready
    case late
    /// The loop cannot watch it.
    case failed
  }

  let loop: EventLoop
  private let descriptor: Int32
  private var registration: EventLoop.Registration?
  private var waiter: UnsafeContinuation<Outcome, Never>?
  private var deadline = MonotonicTime.now
  private var timer: EventLoop.Timer?

  init(_ descriptor: Int32, on loop: EventLoop) {
    self.descriptor = descriptor
    self.loop = loop
  }

  /// Waits until there is something to read, or room to write where that is asked for too. On the loop only.
  func wait(for interest: EventLoop.Interest, until deadline: MonotonicTime) async -> Outcome {
    loop.assertCurrent()
    guard deadline > .now else { return .late }
    do throws(SystemError) {
      if let registration {
        try loop.modify(registration, interest)
      } else {
        registration = try loop.register(descriptor, interest) { [weak self] _ in self?.stirred() }
      }
    } catch {
      return .failed
    }
    setTimer(deadline)
    return await unsafe withUnsafeContinuation { unsafe waiter = $0 }
  }

  /// Nothing is watched any more. Before the descriptor is closed; on the loop only.
  func leave() {
    loop.assertCurrent()
    if let registration { loop.deregister(registration) }
    registration = nil
    timer?.cancel()
    timer = nil
    resume(.failed)
  }

  private func stirred() {
    if unsafe waiter != nil { return resume(.ready) }
    // The server says something that nobody waits for, or has closed: the next who asks will see it.
    if let registration { loop.deregister(registration) }
    registration = nil
  }

  private func resume(_ outcome: Outcome) {
    guard let waiter = unsafe waiter else { return }
    unsafe self.waiter = nil
    unsafe waiter.resume(returning: outcome)
  }

  private func setTimer(_ deadline: MonotonicTime) {
    self.deadline = deadline
    if let timer, timer.isPending, timer.deadline <= deadline { return }
    let left = deadline - .now
    if let timer {
      timer.reschedule(after: left)
    } else {
      timer = loop.scheduleOnLoop(after: left) { [weak self] in self?.expired() }
    }
  }

  private func expired() {
    guard unsafe waiter != nil else { return }
    let left = deadline - .now
    if left > .zero { timer?.reschedule(after: left) } else { resume(.late) }
  }
}
