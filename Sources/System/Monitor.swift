import Glibc

/// A lock with something to wait for under it.
@safe package final class Monitor: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe condition = .allocate(capacity: 1)
    unsafe condition.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(condition, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  package func withLock<Result>(_ body: () -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Lets go of the lock until it is signalled, or for no reason. Under the lock only.
  package func wait() { unsafe pthread_cond_wait(condition, mutex) }

  /// Wakes one that waits. Better outside of the lock: whoever wakes on the same processor would only find it
  /// taken, and sleep again.
  package func signal() { unsafe pthread_cond_signal(condition) }

  /// Wakes all that wait.
  package func broadcast() { unsafe pthread_cond_broadcast(condition) }
}
