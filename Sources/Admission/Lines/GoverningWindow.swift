package import Gateway

extension Window {
  /// The window that a request falls into, given those that the ledger has seen under the same rule.
  ///
  /// A change of the time zone makes the configuration ask for other bounds at once; it acts at the old window's
  /// end (RULES §5.6), so that nobody gets two allowances for one day. The new one begins there.
  ///
  /// - Parameter now: milliseconds since 1970.
  package static func governing(_ asked: Window, among known: [Window], now: Int64) -> Window {
    if let running = known.filter({ $0.holds(now) && $0.isComparable(to: asked) }).min(by: {
      $0.start < $1.start
    }) {
      return running
    }
    guard asked.holds(now) else { return asked }
    var window = asked
    for earlier in known where earlier.isComparable(to: asked) && earlier.end <= now {
      window.start = max(window.start, earlier.end)
    }
    return window
  }

  private func holds(_ time: Int64) -> Bool { start <= time && time < end }

  /// A rule that was counted by month and is counted by day now does not wait for the month's end. The 23 and 25
  /// hours of a day at a change of daylight saving time are alike.
  private func isComparable(to other: Window) -> Bool {
    let (mine, theirs) = (end.saturatingSubtract(start), other.end.saturatingSubtract(other.start))
    return mine / 2 <= theirs && theirs / 2 <= mine
  }
}
