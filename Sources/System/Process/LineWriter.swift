import Glibc

/// Lines on their way to a descriptor, written by a thread of its own: whoever writes one never waits for who reads
/// them. Their order is kept. What a reader does not take in time is dropped, counted and told by a line of its own;
/// a crash loses at most what was not written yet.
@safe package final class LineWriter: @unchecked Sendable {
  private let descriptor: Int32
  private let capacity: Int
  private let telling: @Sendable (Int) -> String
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let arrived: UnsafeMutablePointer<pthread_cond_t>
  // Under the lock.
  private var waiting: [UInt8] = []
  /// Dropped since `waiting` was taken last; none is let in after one that was dropped until then.
  private var untold = 0
  private var total = 0
  private var isWriting = false
  private var isClosed = false

  /// - Parameters:
  ///   - capacity: octets that may wait; a longer queue drops what comes.
  ///   - telling: the line that stands where so many were dropped.
  package init(
    descriptor: Int32, capacity: Int = 1 << 20, telling: @escaping @Sendable (_ dropped: Int) -> String
  ) {
    self.descriptor = descriptor
    self.capacity = capacity
    self.telling = telling
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe arrived = .allocate(capacity: 1)
    unsafe arrived.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(arrived, nil)
    var thread = pthread_t()
    let context = unsafe Unmanaged.passRetained(self)
    let code = unsafe pthread_create(&thread, nil, { unsafe LineWriter.main($0) }, context.toOpaque())
    precondition(code == 0, "pthread_create")
    pthread_detach(thread)
  }

  deinit {
    unsafe pthread_cond_destroy(arrived)
    unsafe pthread_mutex_destroy(mutex)
    unsafe arrived.deallocate()
    unsafe mutex.deallocate()
  }

  /// How many lines were dropped so far.
  package var dropped: Int { locked { total } }

  /// Hands a line over, without its end; from any thread. It is dropped when too much waits.
  package func write(_ line: String) {
    locked {
      guard untold == 0, waiting.count + line.utf8.count < capacity, !isClosed else {
        untold += 1
        total += 1
        return
      }
      waiting.append(contentsOf: line.utf8)
      waiting.append(UInt8(ascii: "\n"))
      unsafe pthread_cond_signal(arrived)
    }
  }

  /// Waits, blocking the thread, until everything is written; false when that takes longer than the limit. For the
  /// end of the process.
  @discardableResult package func flush(within limit: Duration) -> Bool {
    let deadline = MonotonicTime.now.nanoseconds + Int64(limit / .nanoseconds(1))
    while locked({ !waiting.isEmpty || untold > 0 || isWriting }) {
      guard MonotonicTime.now.nanoseconds < deadline else { return false }
      usleep(1_000)
    }
    return true
  }

  /// Ends the thread once everything is written; later lines are dropped.
  package func close() {
    locked {
      isClosed = true
      unsafe pthread_cond_signal(arrived)
    }
  }

  private func locked<Value>(_ body: () -> Value) -> Value {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }

  private static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context = unsafe context {
      unsafe Unmanaged<LineWriter>.fromOpaque(context).takeRetainedValue().run()
    }
    return nil
  }

  private func run() {
    while let (octets, dropped) = take() {
      put(octets)
      if dropped > 0 { put(Array((telling(dropped) + "\n").utf8)) }
      locked { isWriting = false }
    }
  }

  /// Waits for lines; nil at the end.
  private func take() -> (octets: [UInt8], dropped: Int)? {
    locked {
      while waiting.isEmpty && untold == 0 {
        if isClosed { return nil }
        unsafe pthread_cond_wait(arrived, mutex)
      }
      isWriting = true
      defer {
        waiting = []
        untold = 0
      }
      return (waiting, untold)
    }
  }

  /// Waits as long as it takes, also where the descriptor was opened not to wait. A reader that is gone for good is
  /// no reason to stop.
  private func put(_ octets: [UInt8]) {
    var rest = octets[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&ready, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }
}
