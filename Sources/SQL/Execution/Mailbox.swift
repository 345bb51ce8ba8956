import System

/// Jobs on their way to a thread. Any thread posts; the threads of one owner take.
///
/// A waiting taker is woken at once by callers outside an event loop; callers on one leave it asleep until the
/// loop's turn ends, so that all requests of the turn share a commit.
@safe final class Mailbox<Element: Sendable>: @unchecked Sendable {
  private let monitor = Monitor()
  private var elements: [Element] = []
  private var waiting = 0
  private var wakeIsComing = false
  private var closed = false

  /// False when closed: the element was not taken.
  func post(_ element: Element) -> Bool {
    let (isTaken, wakes) = monitor.withLock { () -> (Bool, Bool) in
      if closed { return (false, false) }
      elements.append(element)
      guard waiting > 0, !wakeIsComing else { return (true, false) }
      wakeIsComing = EndOfTurn.run { self.wake() }
      return (true, !wakeIsComing)
    }
    if wakes { monitor.signal() }
    return isTaken
  }

  /// Waits for elements and takes at most `limit`, oldest first; nil when closed and empty.
  func take(_ limit: Int) -> [Element]? {
    monitor.withLock {
      while elements.isEmpty {
        if closed { return nil }
        waiting += 1
        monitor.wait()
        waiting -= 1
      }
      if elements.count <= limit {
        let taken = elements
        elements = []
        elements.reserveCapacity(taken.count)
        return taken
      }
      let taken = Array(elements.prefix(limit))
      elements.removeFirst(limit)
      if waiting > 0 { monitor.signal() }
      return taken
    }
  }

  /// Refuses what comes; what is there is still taken.
  func close() {
    monitor.withLock { closed = true }
    monitor.broadcast()
  }

  private func wake() {
    let wakes = monitor.withLock { () -> Bool in
      wakeIsComing = false
      return waiting > 0 && !elements.isEmpty
    }
    if wakes { monitor.signal() }
  }
}

extension Mailbox: JobQueue where Element == any Job {}
