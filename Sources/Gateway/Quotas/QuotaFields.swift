package import HTTPMessages

/// Where a subject stands in a window.
package struct QuotaStanding: Sendable, Equatable {
  package var rule: String
  package var limit: Int64
  package var remaining: Int64
  /// The window.
  package var window: Window
  /// Money is not shown to apps: what a request costs is the operator's affair.
  package var unit: QuotaUnit

  package init(rule: String, limit: Int64, remaining: Int64, window: Window, unit: QuotaUnit = .requests) {
    self.rule = rule
    self.limit = limit
    self.remaining = remaining
    self.window = window
    self.unit = unit
  }
}

/// Why the ledger refused, as far as limits go.
package enum QuotaRefusal: Sendable, Equatable {
  case inFlight(rule: String)
  /// When to come again, milliseconds since 1970.
  case burst(rule: String, retryAt: Int64)
  case exhausted(QuotaStanding)

  /// The answer: 429 with the reason, when to come again, and `x-should-retry: false`, without which SDKs
  /// sleep a whole Retry-After or hammer.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func error(now: Int64, standings: [QuotaStanding] = []) -> ProviderError {
    let code: String
    let message: String
    var wait: Int64? = 1
    var all = standings
    switch self {
    case .inFlight:
      code = "too_many_in_flight"
      message = "Too many requests of this device run at once; wait for one to end."
    case .burst(_, let retryAt):
      code = "rate_limited"
      message = "Requests come too fast; try again soon."
      wait = QuotaFields.seconds(from: now, to: retryAt)
    case .exhausted(let standing):
      code = standing.unit == .money ? "budget_exceeded" : "quota_exceeded"
      message =
        standing.unit == .money
        ? "The budget for this is used up for now."
        : "The quota \(QuotaFields.quoted(standing.rule)) is used up for now."
      wait = standing.window.end == .max ? nil : QuotaFields.seconds(from: now, to: standing.window.end)
      if !all.contains(where: { $0.rule == standing.rule && $0.window == standing.window }) {
        all.append(standing)
      }
    }
    var fields = QuotaFields.fields(all, now: now)
    if let wait { fields.append("retry-after", String(wait)) }
    fields.append("x-should-retry", "false")
    return ProviderError(status: 429, type: "rate_limit_error", code: code, message: message, fields: fields)
  }
}

/// The fields that tell an app where it stands (draft-ietf-httpapi-ratelimit-headers-10).
package enum QuotaFields {
  /// `RateLimit-Policy` and `RateLimit` for the standings in requests; none where there are none.
  ///
  /// - Parameter now: milliseconds since 1970.
  package static func fields(_ standings: [QuotaStanding], now: Int64) -> HTTPFields {
    let shown = standings.filter { $0.unit == .requests }
    guard !shown.isEmpty else { return HTTPFields() }
    let policies = shown.map { standing in
      var item = "\(quoted(standing.rule));q=\(integer(standing.limit))"
      if standing.window.end != .max {
        // The true length of this window: a day can have 23 or 25 hours.
        item += ";w=\(integer(max(1, seconds(from: standing.window.start, to: standing.window.end))))"
      }
      return item
    }
    let limits = shown.map { standing in
      var item = "\(quoted(standing.rule));r=\(integer(standing.remaining))"
      if standing.window.end != .max { item += ";t=\(seconds(from: now, to: standing.window.end))" }
      return item
    }
    return [
      "ratelimit-policy": policies.joined(separator: ", "), "ratelimit": limits.joined(separator: ", "),
    ]
  }

  /// Whole seconds between two instants in milliseconds, rounded up, at least 1: nobody may be told to come
  /// too early.
  static func seconds(from start: Int64, to end: Int64) -> Int64 {
    let (difference, overflow) = end.subtractingReportingOverflow(start)
    guard !overflow, difference > 0 else { return 1 }
    return integer(difference / 1_000 + (difference % 1_000 == 0 ? 0 : 1))
  }

  /// A String of RFC 9651 §3.3.3: printable ASCII.
  static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars.prefix(64) where (0x20...0x7E).contains(scalar.value) {
      if scalar == "\"" || scalar == "\\" { out.unicodeScalars.append("\\") }
      out.unicodeScalars.append(scalar)
    }
    return out + "\""
  }

  /// An Integer of RFC 9651 §3.3.1, at most 15 digits; none here is negative.
  private static func integer(_ value: Int64) -> Int64 { min(max(value, 0), 999_999_999_999_999) }
}
