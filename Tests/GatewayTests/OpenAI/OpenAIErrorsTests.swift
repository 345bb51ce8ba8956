import Gateway
import HTTPMessages
import Testing

@Suite("What OpenAI's errors mean")
struct OpenAIErrorsTests {
  private static let key = "sk-proj-0123456789abcdef"

  private static func judge(
    _ status: Int, code: String = "null", type: String = #""invalid_request_error""#, message: String = "m",
    fields: HTTPFields = [:]
  ) -> UpstreamFailure {
    let body = #"{"error":{"message":"\#(message)","type":\#(type),"param":null,"code":\#(code)}}"#
    return Chat.provider().judge(
      status: status, fields: fields, body: Array(body.utf8),
      scrubber: SecretScrubber(secrets: [Array(key.utf8)]))
  }

  @Test("The operator's faults are told to the operator, and to the app only that there is one")
  func operatorFaults() {
    let failures = [
      Self.judge(401, code: #""invalid_api_key""#, message: "Incorrect API key provided: \(Self.key)"),
      Self.judge(402), Self.judge(403, code: #""unsupported_country_region_territory""#),
      Self.judge(429, code: #""insufficient_quota""#, type: #""insufficient_quota""#),
      Self.judge(429, type: #""insufficient_quota""#),
      Self.judge(400, code: #""billing_hard_limit_reached""#),
      Self.judge(404, code: #""model_not_found""#),
    ]
    for failure in failures {
      #expect(failure.error.status == 503 && failure.error.code == "upstream_failed")
      #expect(failure.unbilled && failure.givesBackCount)
      guard case .operatorFault = failure.alarm else {
        Issue.record("no alarm")
        continue
      }
      #expect(!failure.error.message.contains("sk-"))
    }
  }

  @Test("Busy is 503 with a Retry-After within bounds")
  func busy() {
    let limited = Self.judge(429, code: #""rate_limit_exceeded""#, fields: ["retry-after": "7"])
    #expect(limited.error.status == 503 && limited.error.code == "upstream_busy")
    #expect(limited.error.fields["retry-after"] == "7" && limited.unbilled && limited.alarm == nil)
    for (asked, told) in [("30000", "60"), ("0", "1"), ("-5", "1"), ("soon", "5"), ("6m0s", "5")] {
      #expect(Self.judge(503, fields: ["retry-after": asked]).error.fields["retry-after"] == told)
    }
  }

  @Test("What the app did is told with OpenAI's own name for it, scrubbed, and counts")
  func callers() {
    let long = Self.judge(400, code: #""context_length_exceeded""#, message: "too long \(Self.key)")
    #expect(long.error.status == 400 && long.error.type == "invalid_request_error")
    #expect(long.error.providerCode == "context_length_exceeded" && long.error.code == "upstream_refused")
    #expect(long.error.message == "too long [redacted]" && !long.givesBackCount && long.unbilled)
    #expect(Self.judge(400, code: #""\#(Self.key)""#).error.providerCode == nil)
    #expect(Self.judge(404).error.status == 404)
  }

  @Test("Its own failures and redirections; a body that is no JSON changes nothing")
  func failures() {
    #expect(Self.judge(500).error.status == 502 && Self.judge(500).unbilled)
    #expect(Self.judge(504).error.code == "upstream_timeout" && !Self.judge(504).unbilled)
    #expect(Self.judge(302).alarm == .redirected(status: 302) && !Self.judge(302).unbilled)
    let page = Chat.provider().judge(
      status: 502, fields: [:], body: Array("<html>".utf8), scrubber: SecretScrubber(secrets: []))
    #expect(page.error.status == 502 && page.error.message == "The AI provider failed.")
  }
}
