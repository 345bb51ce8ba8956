/// Whether the disk makes commits durable so quickly that an event loop may wait for one.
struct CommitPace {
  /// Nanoseconds of a commit that keeps no loop too long.
  let limit: Int64
  /// After a slow commit so many quick ones must follow.
  private static let probation = 32
  /// So many quick ones before the first time: nothing is known of the disk yet.
  private var owed = 4

  init(limit: Int64) { self.limit = limit }

  var isQuick: Bool { owed == 0 }

  /// A commit took so long.
  mutating func note(nanoseconds: Int64) {
    if nanoseconds >= limit {
      owed = Self.probation
    } else if owed > 0 {
      owed -= 1
    }
  }
}
