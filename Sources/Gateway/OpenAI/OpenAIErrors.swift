import Encodings
package import HTTPMessages

extension OpenAI {
  /// The statuses for which OpenAI bills nothing.
  private static let unbilled: Set<Int> = [
    400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 429, 500, 502, 503,
  ]

  /// Names under which OpenAI says that the operator is the matter: the bill, a limit of spending, a model that
  /// is not theirs.
  private static let operatorCodes: Set<String> = [
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated",
    "invalid_api_key", "model_not_found", "unsupported_country_region_territory",
  ]

  package func judge(
    status: Int, fields: HTTPFields, body: [UInt8], scrubber: SecretScrubber
  ) -> UpstreamFailure {
    let root = try? JSONReader.read(body)
    let error = root?["error"]
    let type = error?["type"]?.string
    let code = error?["code"]?.string
    let unbilled = Self.unbilled.contains(status)

    if (300..<400).contains(status) { return .redirected(status: status) }
    let isOperators = [code, type].contains { $0.map(Self.operatorCodes.contains) ?? false }
    if [401, 402, 403].contains(status) || (status < 500 && isOperators) {
      return .operatorFault(
        status: status, type: scrubber.scrub(code ?? type ?? "unknown", limit: 60), unbilled: unbilled)
    }
    switch status {
    // OpenAI's own word for being overloaded is 503: its SDKs know it, and come again after Retry-After.
    case 429, 503: return .busy(503, retryAfter: fields["retry-after"], unbilled: unbilled)
    case 408, 504: return .late(unbilled: unbilled)
    case 400..<500:
      let message = error?["message"]?.string
      return UpstreamFailure(
        error: ProviderError(
          status: status, type: "invalid_request_error", code: "upstream_refused",
          message: message.map { scrubber.scrub($0) } ?? "The AI provider refused the request.",
          providerCode: code.flatMap { Self.isName($0) ? $0 : nil }),
        unbilled: unbilled, givesBackCount: false)
    default: return .failed("The AI provider failed.", unbilled: unbilled)
    }
  }

  /// A name such as `context_length_exceeded`, by which apps tell what is wrong.
  private static func isName(_ text: String) -> Bool {
    text.utf8.count <= 64 && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") }
  }
}
