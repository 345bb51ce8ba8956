extension EventLoop {
  /// A closure that the loop will call. It belongs to the loop's thread, but ``cancel()`` may be called anywhere.
  package final class Timer: @unchecked Sendable {
    /// Not called before this instant.
    package fileprivate(set) var deadline: MonotonicTime
    /// Ties are fired in the order in which they were set.
    fileprivate(set) var sequence: UInt64 = 0
    /// Its place in the heap; -1 outside.
    fileprivate(set) var index = -1
    fileprivate unowned let loop: EventLoop
    fileprivate var action: (() -> Void)?

    fileprivate init(_ deadline: MonotonicTime, _ loop: EventLoop, _ action: @escaping () -> Void) {
      self.deadline = deadline
      self.loop = loop
      self.action = action
    }

    /// The closure is not called and let go. Called off the loop, it may just be too late.
    package func cancel() {
      if loop.isCurrent { disarm() } else { loop.execute { self.disarm() } }
    }

    /// Sets another delay from now; also for one that has fired, not for one that was cancelled. On the loop
    /// only.
    package func reschedule(after delay: Duration) {
      loop.assertCurrent()
      guard action != nil else { return }
      loop.timers.remove(self)
      deadline = .now + delay
      loop.timers.insert(self)
    }

    /// Whether it is still to fire. On the loop only.
    package var isPending: Bool { index >= 0 }

    private func disarm() {
      loop.timers.remove(self)
      action = nil
    }

    func fire() { action?() }
  }

  /// Calls the closure on the loop after the delay (never early, late by a millisecond or a turn). From any
  /// thread; the loop keeps the timer until it has fired.
  @discardableResult
  package func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> Timer {
    let timer = Timer(.now + delay, self, action)
    if isCurrent {
      timers.insert(timer)
    } else {
      execute { if timer.action != nil { self.timers.insert(timer) } }
    }
    return timer
  }

  /// As ``schedule(after:_:)`` for a closure that holds what belongs to the loop. On the loop only.
  @discardableResult
  package func scheduleOnLoop(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
    assertCurrent()
    let timer = Timer(.now + delay, self, action)
    timers.insert(timer)
    return timer
  }
}

/// Timers by deadline: a binary heap in which each timer knows its place, so that one can be taken out.
struct TimerHeap {
  private var heap: [EventLoop.Timer] = []
  private var nextSequence: UInt64 = 0

  /// How long the poller may wait: -1 without a timer; rounded up, so that no timer fires early.
  var millisecondsUntilFirst: Int32 {
    guard let first = heap.first else { return -1 }
    let nanoseconds = first.deadline.nanoseconds - MonotonicTime.now.nanoseconds
    return nanoseconds <= 0 ? 0 : Int32(clamping: (nanoseconds - 1) / 1_000_000 + 1)
  }

  mutating func insert(_ timer: EventLoop.Timer) {
    nextSequence += 1
    timer.sequence = nextSequence
    timer.index = heap.count
    heap.append(timer)
    siftUp(timer.index)
  }

  mutating func remove(_ timer: EventLoop.Timer) {
    let index = timer.index
    guard index >= 0 else { return }
    timer.index = -1
    let last = heap.removeLast()
    guard last !== timer else { return }
    heap[index] = last
    last.index = index
    siftUp(index)
    siftDown(last.index)
  }

  /// Takes out the first timer if its deadline is reached.
  mutating func popFirst(until now: MonotonicTime) -> EventLoop.Timer? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    remove(first)
    return first
  }

  private static func precedes(_ left: EventLoop.Timer, _ right: EventLoop.Timer) -> Bool {
    left.deadline == right.deadline ? left.sequence < right.sequence : left.deadline < right.deadline
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard Self.precedes(heap[index], heap[parent]) else { return }
      exchange(index, parent)
      index = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    while true {
      var first = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
        if Self.precedes(heap[child], heap[first]) { first = child }
      }
      guard first != index else { return }
      exchange(index, first)
      index = first
    }
  }

  private mutating func exchange(_ left: Int, _ right: Int) {
    heap.swapAt(left, right)
    heap[left].index = left
    heap[right].index = right
  }
}
