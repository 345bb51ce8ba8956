import Encodings
package import HTTPMessages

extension Fal {
  /// The statuses below 500 for which fal bills nothing: it refused before a model ran. 422 is not among them, since
  /// a model may have run; servers' errors never are billed.
  private static let unbilled: Set<Int> = [400, 401, 402, 403, 404, 405, 413, 415, 429]

  package func judge(
    status: Int, fields: HTTPFields, body: [UInt8], scrubber: SecretScrubber
  ) -> UpstreamFailure {
    let root = try? JSONReader.read(body)
    // A model's own refusal is a list of what is wrong; only the first is told, without the input that it quotes.
    let first = root?["detail"]?.elements?.first
    let told = root?["detail"]?.string ?? first?["msg"]?.string
    let type =
      root?["error_type"]?.string ?? first?["type"]?.string ?? fields["x-fal-error-type"] ?? "unknown"
    let unbilled = Self.unbilled.contains(status) || status >= 500

    if (300..<400).contains(status) {
      return failure(502, "The AI provider cannot be reached.", unbilled: false, .redirected(status: status))
    }
    switch status {
    // 403 is also how fal says that the account is locked or its money spent; a model that is not there is the
    // operator's mistake, because the path is.
    case 401, 402, 403, 404, 405:
      return failure(
        503, "The service cannot answer just now; its operator was told.", unbilled: unbilled,
        .operatorFault(status: status, type: scrubber.scrub(type, limit: 60)))
    case 429, 503: return busy(fields, unbilled: unbilled)
    case 408, 504:
      return UpstreamFailure(
        error: ProviderError(
          status: 504, type: "timeout_error", code: "upstream_timeout",
          message: "The AI provider did not answer in time."),
        unbilled: unbilled, givesBackCount: true, microUnits: FalUnit.billed(fields))
    case 400..<500:
      return UpstreamFailure(
        error: ProviderError(
          status: status, type: scrubber.scrub(type, limit: 60), code: "upstream_refused",
          message: told.map { scrubber.scrub($0) } ?? "The AI provider refused the request."),
        unbilled: unbilled, givesBackCount: false, microUnits: FalUnit.billed(fields))
    default: return failure(502, "The AI provider failed.", unbilled: unbilled)
    }
  }

  private func failure(
    _ status: Int, _ message: String, unbilled: Bool, _ alarm: ProxyAlarm? = nil
  ) -> UpstreamFailure {
    UpstreamFailure(
      error: ProviderError(status: status, type: "api_error", code: "upstream_failed", message: message),
      unbilled: unbilled, givesBackCount: true, alarm: alarm)
  }

  private func busy(_ fields: HTTPFields, unbilled: Bool) -> UpstreamFailure {
    let asked = fields["retry-after"].flatMap { Int64($0) } ?? 5
    return UpstreamFailure(
      error: ProviderError(
        status: 503, type: "overloaded_error", code: "upstream_busy",
        message: "The AI provider is busy; try again soon.",
        fields: ["retry-after": String(min(max(asked, 1), 60))]),
      unbilled: unbilled, givesBackCount: true)
  }
}
