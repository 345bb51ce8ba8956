import Glibc

/// Jobs on their way to a thread. Any thread posts; the threads of one owner take.
///
/// A waiting taker is woken at once by callers outside an event loop; callers on one leave it asleep until the
/// loop's turn ends, so that all requests of the turn share a commit.
@safe final class Mailbox<Element: Sendable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let arrived: UnsafeMutablePointer<pthread_cond_t>
  private var elements: [Element] = []
  private var waiting = 0
  private var wakeIsComing = false
  private var closed = false

  init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe arrived = .allocate(capacity: 1)
    unsafe arrived.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(arrived, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(arrived)
    unsafe pthread_mutex_destroy(mutex)
    unsafe arrived.deallocate()
    unsafe mutex.deallocate()
  }

  /// False when closed: the element was not taken.
  func post(_ element: Element) -> Bool {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    if closed { return false }
    elements.append(element)
    if waiting > 0, !wakeIsComing {
      wakeIsComing = EndOfTurn.run { self.wake() }
      if !wakeIsComing { unsafe pthread_cond_signal(arrived) }
    }
    return true
  }

  /// Waits for elements and takes at most `limit`, oldest first; nil when closed and empty.
  func take(_ limit: Int) -> [Element]? {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while elements.isEmpty {
      if closed { return nil }
      waiting += 1
      unsafe pthread_cond_wait(arrived, mutex)
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
    if waiting > 0 { unsafe pthread_cond_signal(arrived) }
    return taken
  }

  /// Refuses what comes; what is there is still taken.
  func close() {
    unsafe pthread_mutex_lock(mutex)
    closed = true
    unsafe pthread_cond_broadcast(arrived)
    unsafe pthread_mutex_unlock(mutex)
  }

  private func wake() {
    unsafe pthread_mutex_lock(mutex)
    wakeIsComing = false
    if waiting > 0, !elements.isEmpty { unsafe pthread_cond_signal(arrived) }
    unsafe pthread_mutex_unlock(mutex)
  }
}
