/// Keeps requests from a provider that fails for everyone.
///
/// It opens only when calls of five distinct keys failed in a row of failures (RULES §5.4), so that no single
/// device can close a provider to the others. Failures are the provider's own: 5xx, time-outs, lost
/// connections; never a caller's 4xx.
package struct CircuitBreaker: Sendable {
  /// What a call may do.
  package enum Verdict: Sendable, Equatable {
    case allowed
    /// The one call that finds out whether the provider is back; its end must be recorded.
    case probe
    /// Refused; when to come again, milliseconds since 1970.
    case refused(retryAt: Int64)
  }

  private enum State: Sendable {
    case closed
    case open(until: Int64)
    case probing(until: Int64)
  }

  private let distinctKeys: Int
  private let span: Int64
  private let pause: Int64
  private var state = State.closed
  /// The last failure of each key since the last success, at most `distinctKeys` of them.
  private var failures: [[UInt8]: Int64] = [:]

  /// - Parameters:
  ///   - distinctKeys: how many keys must have failed; five is the least.
  ///   - span: within how many milliseconds.
  ///   - pause: milliseconds for which it stays open.
  package init(distinctKeys: Int = 5, span: Int64 = 30_000, pause: Int64 = 15_000) {
    self.distinctKeys = max(5, distinctKeys)
    self.span = max(1, span)
    self.pause = max(1, pause)
  }

  /// Whether a call may go out now. A probe that never reports is replaced after a pause.
  package mutating func admit(now: Int64) -> Verdict {
    switch state {
    case .closed: return .allowed
    case .open(let until), .probing(let until):
      // A clock that was put back must not keep it open for longer than a pause.
      if now < until, until - now <= pause { return .refused(retryAt: until) }
      state = .probing(until: now + pause)
      return .probe
    }
  }

  /// The probe did not go out after all: the next call is one, at once. A device whose quota is used up must
  /// not take every probe.
  package mutating func probeWithdrawn(now: Int64) {
    if case .probing = state { state = .open(until: now) }
  }

  /// The provider answered, with whatever was the caller's own doing.
  package mutating func succeeded() {
    failures = [:]
    state = .closed
  }

  /// The provider failed for that key.
  package mutating func failed(key: [UInt8], now: Int64) {
    switch state {
    case .open: return
    case .probing: state = .open(until: now + pause)
    case .closed:
      failures = failures.filter { now - $0.value < span && $0.value <= now }
      failures[key] = now
      if failures.count >= distinctKeys {
        failures = [:]
        state = .open(until: now + pause)
      }
    }
  }
}
