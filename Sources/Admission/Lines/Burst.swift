/// The generic cell rate algorithm: one row holds the theoretical arrival time (TAT) of the next request. Times are
/// nanoseconds since 1970.
enum Burst {
  enum Verdict: Equatable {
    /// The row's new value.
    case conforms(arrival: Int64)
    /// When it would, milliseconds since 1970, rounded up.
    case tooFast(retryAt: Int64)
  }

  /// The row's value on a clock that jumped back, which would leave it far in the future and the subject shut out
  /// (RULES §5.6). To be kept also when the request is refused, or waiting would never help.
  static func guarded(arrival: Int64, interval: Int64, burst: Int64, now: Int64) -> Int64 {
    min(arrival, nanoseconds(now).saturatingAdd(interval.saturatingMultiply(burst)))
  }

  /// - Parameters:
  ///   - arrival: as `guarded` gave it.
  ///   - interval: nanoseconds between two requests in the long run.
  ///   - burst: how many may come at once.
  ///   - now: milliseconds since 1970.
  static func judge(arrival: Int64, amount: Int64, interval: Int64, burst: Int64, now: Int64) -> Verdict {
    let now = nanoseconds(now)
    let next = max(arrival, now).saturatingAdd(interval.saturatingMultiply(amount))
    let earliest = next.saturatingSubtract(interval.saturatingMultiply(burst))
    // What costs more than the burst never conforms, and neither does what went over the range of numbers.
    if earliest <= now, amount <= burst, next < .max { return .conforms(arrival: next) }
    return .tooFast(retryAt: earliest / 1_000_000 + (earliest % 1_000_000 == 0 ? 0 : 1))
  }

  private static func nanoseconds(_ milliseconds: Int64) -> Int64 {
    milliseconds.saturatingMultiply(1_000_000)
  }
}
