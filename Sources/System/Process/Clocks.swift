import Glibc

/// An instant of the clock that never jumps (`CLOCK_MONOTONIC`): for deadlines and durations of one process.
package struct MonotonicTime: Sendable, Hashable, Comparable {
  /// Nanoseconds since some fixed instant.
  package var nanoseconds: Int64

  /// The instant at that reading.
  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Now.
  package static var now: MonotonicTime { MonotonicTime(nanoseconds: readClock(CLOCK_MONOTONIC)) }

  /// The earlier one is less.
  package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// A later instant; saturates.
  package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
    let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
    return MonotonicTime(nanoseconds: overflow ? .max : sum)
  }

  /// The time between two instants.
  package static func - (left: MonotonicTime, right: MonotonicTime) -> Duration {
    .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
  }
}

/// The clock on the wall (`CLOCK_REALTIME`). It may jump.
package enum WallClock {
  /// Nanoseconds since 1970 (UTC, leap seconds not counted).
  package static var nanoseconds: Int64 { readClock(CLOCK_REALTIME) }
  /// Milliseconds since 1970.
  package static var milliseconds: Int64 { nanoseconds / 1_000_000 }
  /// Seconds since 1970.
  package static var seconds: Int64 { nanoseconds / 1_000_000_000 }
}

/// What the processor has worked for the calling thread, whatever else it did meanwhile.
package enum ThreadTime {
  /// Nanoseconds since the thread began.
  package static var nanoseconds: Int64 { readClock(CLOCK_THREAD_CPUTIME_ID) }
}

extension Duration {
  /// Whole nanoseconds, 0 for a negative duration and a century at most, so that sums cannot overflow.
  package var clampedNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    return min(seconds, 3_155_760_000) * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}

private func readClock(_ clock: clockid_t) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
