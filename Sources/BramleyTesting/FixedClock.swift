import Synchronization

/// A clock that moves only when it is told to, in either direction.
package final class FixedClock: Sendable {
  private let milliseconds: Atomic<Int64>

  /// A clock at that time, seconds since 1970.
  package init(seconds: Int64) { milliseconds = Atomic(seconds * 1000) }

  /// Seconds since 1970.
  package var seconds: Int64 { now / 1000 }
  /// Milliseconds since 1970.
  package var now: Int64 { milliseconds.load(ordering: .sequentiallyConsistent) }

  /// Moves by so many milliseconds, back when negative.
  package func advance(milliseconds step: Int64) {
    milliseconds.add(step, ordering: .sequentiallyConsistent)
  }

  /// Moves by so many seconds, back when negative.
  package func advance(seconds: Int64) { advance(milliseconds: seconds * 1000) }

  /// Jumps to that time, seconds since 1970.
  package func set(seconds: Int64) {
    milliseconds.store(seconds * 1000, ordering: .sequentiallyConsistent)
  }
}
