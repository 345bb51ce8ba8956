package import Encodings

/// Why octets are no time zone.
package enum TimeZoneError: Error, Equatable, Sendable {
  /// They do not begin as a TZif file does.
  case notTZif
  /// They are of version 1, which has no 64-bit times and no rule for the future.
  case version1
  /// They end too early, or a count or an index is out of its bounds.
  case malformed
  /// The footer's rule cannot be read.
  case footer
}

/// The offsets of a named time zone, read from a TZif file (RFC 8536) of version 2 or later.
///
/// It serves calendar days as counting periods: the days of a zone follow one another without gap or overlap,
/// whatever its clocks do. Where a clock is put back over midnight just after it, the new day has begun and
/// stays (else a day's quota could be had twice); a day that a zone skipped does not come.
package struct TimeZoneRules: Sendable, Equatable {
  /// The name, such as `Asia/Tokyo`.
  package let name: String
  private let transitions: [Int64]
  /// Seconds east of UTC before the first transition, and from each on.
  private let offsets: [Int64]
  private let rule: POSIXTimeZone?

  /// UTC, which needs no file.
  package static let utc = TimeZoneRules(name: "UTC", transitions: [], offsets: [0], rule: nil)

  /// Reads a TZif file.
  package init(name: String, tzif bytes: [UInt8]) throws(TimeZoneError) {
    let file = try TZif(bytes)
    self.init(name: name, transitions: file.transitions, offsets: file.offsets, rule: file.rule)
  }

  private init(name: String, transitions: [Int64], offsets: [Int64], rule: POSIXTimeZone?) {
    self.name = name
    self.transitions = transitions
    self.offsets = offsets
    self.rule = rule
  }

  /// Seconds east of UTC at an instant, in seconds since 1970.
  package func offset(at instant: Int64) -> Int64 {
    let instant = Self.bounded(instant)
    let passed = passedTransitions(at: instant)
    if passed == transitions.count, let rule { return rule.offset(at: instant) }
    return offsets[passed]
  }

  /// The counting day of an instant, in seconds since 1970: its local date.
  package func day(at instant: Int64) -> CivilDate {
    let instant = Self.bounded(instant)
    var day = CivilDate(days: (instant + offset(at: instant)).flooredQuotient(CivilDate.secondsPerDay))
    while true {
      let next = CivilDate(days: day.days + 1)
      guard start(of: next) <= instant else { return day }
      day = next
    }
  }

  /// The first instant, in seconds since 1970, whose local date is that date or a later one.
  package func start(of date: CivilDate) -> Int64 {
    let midnight = date.days * CivilDate.secondsPerDay
    // No offset reaches a day and two hours (RFC 8536 §3.2), so the date has not begun here.
    var begin = midnight - 93_600
    while true {
      let offset = offset(at: begin)
      let candidate = max(begin, midnight - offset)
      guard let next = transition(after: begin), next <= candidate else { return candidate }
      begin = next
    }
  }

  /// The end of the counting day of an instant: where the next one begins.
  package func endOfDay(at instant: Int64) -> Int64 {
    start(of: CivilDate(days: day(at: instant).days + 1))
  }

  /// The instant of the first change of the clock after `instant`.
  private func transition(after instant: Int64) -> Int64? {
    let passed = passedTransitions(at: instant)
    if passed < transitions.count { return transitions[passed] }
    return rule?.change(after: instant)
  }

  /// How many transitions lie at or before an instant.
  private func passedTransitions(at instant: Int64) -> Int {
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= instant { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Years 1 to 9999 and a little more; a clock beyond is wrong, and arithmetic must not trap.
  private static func bounded(_ instant: Int64) -> Int64 {
    min(max(instant, -62_000_000_000), 253_000_000_000)
  }
}
