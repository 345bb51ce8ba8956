/// The generic cell rate algorithm: one row holds the theoretical arrival time (TAT) of the next request. Times are
/// nanoseconds since 1970.
enum Burst {
  enum Verdict: Equatable {
    /// The row's new value.
    case conforms(arrival: Int64)
    /// When it would, milliseconds since 1970, rounded up.
    case tooFast(retryAt: Int64)
  }

  /// - Parameters:
  ///   - interval: nanoseconds between two requests in the long run.
  ///   - burst: how many may come at once.
  ///   - now: milliseconds since 1970.
  static func judge(arrival: Int64, amount: Int64, interval: Int64, burst: Int64, now: Int64) -> Verdict {
    let now = now.saturatingMultiply(1_000_000)
    let tolerance = interval.saturatingMultiply(burst)
    // A clock that jumped back would leave the row far in the future and the subject shut out (RULES §5.6).
    let guarded = min(arrival, now.saturatingAdd(tolerance))
    let next = max(guarded, now).saturatingAdd(interval.saturatingMultiply(amount))
    let earliest = next.saturatingSubtract(tolerance)
    if earliest <= now { return .conforms(arrival: next) }
    return .tooFast(retryAt: earliest / 1_000_000 + (earliest % 1_000_000 == 0 ? 0 : 1))
  }
}
