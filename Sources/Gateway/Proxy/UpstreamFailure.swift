import HTTPMessages

/// What a non-2xx answer of a provider means.
package struct UpstreamFailure: Sendable, Equatable {
  /// What the app is told.
  package var error: ProviderError
  /// Whether the provider bills nothing for this status; else the reserve is booked (RULES §5.2).
  package var unbilled: Bool
  /// Whether the day count may be given back (RULES §5.4).
  package var givesBackCount: Bool
  /// Millionths of a unit that the answer says are billed all the same; nil where it says nothing.
  package var microUnits: Int64?
  /// What the operator is told; nil for what is the app's own doing or passes by itself.
  package var alarm: ProxyAlarm?

  package init(
    error: ProviderError, unbilled: Bool, givesBackCount: Bool, microUnits: Int64? = nil,
    alarm: ProxyAlarm? = nil
  ) {
    self.error = error
    self.unbilled = unbilled
    self.givesBackCount = givesBackCount
    self.microUnits = microUnits
    self.alarm = alarm
  }
}

extension UpstreamFailure {
  /// The provider failed, for whatever reason.
  static func failed(
    _ message: String, status: Int = 502, unbilled: Bool, alarm: ProxyAlarm? = nil
  ) -> UpstreamFailure {
    UpstreamFailure(
      error: ProviderError(status: status, type: "api_error", code: "upstream_failed", message: message),
      unbilled: unbilled, givesBackCount: true, alarm: alarm)
  }

  /// The provider sent us elsewhere, where the key never goes.
  static func redirected(status: Int) -> UpstreamFailure {
    failed("The AI provider cannot be reached.", unbilled: false, alarm: .redirected(status: status))
  }

  /// The provider refuses the operator: no matter of the app's, and never its 401.
  static func operatorFault(status: Int, type: String, unbilled: Bool) -> UpstreamFailure {
    failed(
      "The service cannot answer just now; its operator was told.", status: 503, unbilled: unbilled,
      alarm: .operatorFault(status: status, type: type))
  }

  /// The provider did not answer in time.
  static func late(unbilled: Bool) -> UpstreamFailure {
    UpstreamFailure(
      error: ProviderError(
        status: 504, type: "timeout_error", code: "upstream_timeout",
        message: "The AI provider did not answer in time."), unbilled: unbilled, givesBackCount: true)
  }

  /// The provider is busy.
  ///
  /// - Parameter retryAfter: its Retry-After, seconds. It is kept within bounds: SDKs sleep all of it, and an app
  ///   would hang.
  static func busy(
    _ status: Int, type: String = "api_error", retryAfter: String?, unbilled: Bool
  ) -> UpstreamFailure {
    let asked = retryAfter.flatMap { Int64($0) } ?? 5
    return UpstreamFailure(
      error: ProviderError(
        status: status, type: type, code: "upstream_busy",
        message: "The AI provider is busy; try again soon.",
        fields: ["retry-after": String(min(max(asked, 1), 60))]),
      unbilled: unbilled, givesBackCount: true)
  }
}

/// Something that an operator should look at. No case holds content or a secret.
package enum ProxyAlarm: Sendable, Equatable {
  /// The provider refuses the operator: key, permission, bill or spend limit.
  case operatorFault(status: Int, type: String)
  /// An answer cost more than was reserved, in pico-dollars; the model is closed until acknowledged.
  case costAboveReserve(model: String, cost: Int64, reserve: Int64)
  /// An answer spelled a secret and was cut.
  case secretInAnswer
  /// The provider compressed although it was asked not to.
  case encodedAnswer
  /// The provider answered with a redirection.
  case redirected(status: Int)
  /// A 2xx answer of a media type that is not the provider's.
  case unexpectedContent
  /// A 2xx answer without readable usage; the reserve was booked.
  case usageUnreadable(model: String)

  /// A stable name for metrics and logs.
  package var name: String {
    switch self {
    case .operatorFault: "operator_fault"
    case .costAboveReserve: "cost_above_reserve"
    case .secretInAnswer: "secret_in_answer"
    case .encodedAnswer: "encoded_answer"
    case .redirected: "redirected"
    case .unexpectedContent: "unexpected_content"
    case .usageUnreadable: "usage_unreadable"
    }
  }
}
