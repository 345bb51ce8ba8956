import Glibc

/// A mutex for what this room shares between threads: the thread sanitizer misjudges
/// `Synchronization.Mutex`, and this target depends on no other room.
@safe final class Lock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Runs `body` alone.
  func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Takes the lock if it is free; whoever gets true calls `unlock`.
  func tryLock() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

  func unlock() { unsafe pthread_mutex_unlock(mutex) }
}
