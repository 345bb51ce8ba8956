import Encodings
package import HTTPMessages

extension Anthropic {
  /// The statuses for which Anthropic bills nothing.
  private static let unbilled: Set<Int> = [
    400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 429, 500, 502, 503, 529,
  ]

  /// Names under which Anthropic says that a limit of the operator's own is reached.
  private static let spendCodes: Set<String> = [
    "enforced_spend_limit_reached", "ramp_limit_exceeded", "spend_limit_reached", "credit_balance_too_low",
  ]
  private static let spendTexts = [
    "your credit balance is too low", "you have reached your specified", "you have reached your spend",
  ]

  package func judge(
    status: Int, fields: HTTPFields, body: [UInt8], scrubber: SecretScrubber
  ) -> UpstreamFailure {
    let root = try? JSONReader.read(body)
    let error = root?["error"]
    let code = error?["details"]?["error_code"]?.string
    let message = error?["message"]?.string
    let unbilled = Self.unbilled.contains(status)

    if (300..<400).contains(status) {
      return .redirected(status: status)
    }
    if [401, 402, 403].contains(status) || isSpendLimit(status: status, code: code, message: message) {
      let type = error?["type"]?.string ?? "unknown"
      return .operatorFault(status: status, type: scrubber.scrub(type, limit: 60), unbilled: unbilled)
    }
    switch status {
    case 429, 529:
      return .busy(529, type: "overloaded_error", retryAfter: fields["retry-after"], unbilled: unbilled)
    case 503: return .busy(503, retryAfter: fields["retry-after"], unbilled: unbilled)
    case 408, 504:
      return .late(unbilled: unbilled)
    case 400..<500:
      let type = error?["type"]?.string.flatMap { Self.clientTypes[$0] == status ? $0 : nil }
      let text = message.map { scrubber.scrub($0) } ?? "The AI provider refused the request."
      return UpstreamFailure(
        error: ProviderError(
          status: status, type: type ?? "invalid_request_error", code: "upstream_refused", message: text),
        unbilled: unbilled, givesBackCount: false)
    default: return .failed("The AI provider failed.", unbilled: unbilled)
    }
  }

  private static let clientTypes = [
    "invalid_request_error": 400, "not_found_error": 404, "conflict_error": 409, "request_too_large": 413,
  ]

  /// A message counts only from its beginning, since what an app sent may be quoted further on.
  private func isSpendLimit(status: Int, code: String?, message: String?) -> Bool {
    guard status == 400 || status == 429 else { return false }
    if let code, Self.spendCodes.contains(code) { return true }
    guard let message = message?.lowercased() else { return false }
    return Self.spendTexts.contains { message.hasPrefix($0) }
  }
}
