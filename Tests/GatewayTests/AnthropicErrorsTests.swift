import Gateway
import HTTPMessages
import Testing

@Suite("Anthropic's errors, as an app is told of them")
struct AnthropicErrorsTests {
  private static func judge(_ status: Int, _ body: String = "", fields: HTTPFields = [:]) -> UpstreamFailure {
    Example.anthropic().judge(
      status: status, fields: fields, body: Array(body.utf8), scrubber: SecretScrubber(secrets: []))
  }

  private static func body(_ type: String, _ message: String, code: String? = nil) -> String {
    let details = code.map { #","details":{"error_code":"\#($0)"}"# } ?? ""
    return
      #"{"type":"error","error":{"type":"\#(type)","message":"\#(message)"\#(details)},"request_id":"r"}"#
  }

  @Test("401, 402 and 403 are the operator's fault: 503 and an alarm, never the app's 401")
  func operatorFaults() {
    for (status, type) in [(401, "authentication_error"), (402, "billing_error"), (403, "permission_error")] {
      for text in [Self.body(type, "invalid x-api-key"), "", "<html>"] {
        let failure = Self.judge(status, text)
        #expect(failure.error.status == 503)
        #expect(!failure.error.message.contains("key"))
        #expect(failure.unbilled)
        guard case .operatorFault(status, _) = failure.alarm else {
          Issue.record("no alarm for \(status)")
          continue
        }
      }
    }
  }

  @Test("A spend limit of the operator's, under 400 or 429, is the operator's fault too")
  func spendLimits() {
    for (status, text) in [
      (400, Self.body("invalid_request_error", "Your credit balance is too low to access the API.")),
      (400, Self.body("invalid_request_error", "You have reached your specified API usage limits.")),
      (429, Self.body("rate_limit_error", "x", code: "enforced_spend_limit_reached")),
      (429, Self.body("rate_limit_error", "x", code: "ramp_limit_exceeded")),
    ] {
      #expect(Self.judge(status, text).error.status == 503)
      #expect(Self.judge(status, text).alarm != nil)
    }
  }

  @Test("An app cannot raise that alarm by having its own words quoted")
  func noForgedAlarm() {
    let failure = Self.judge(
      400, Self.body("invalid_request_error", "messages.0: unknown 'Your credit balance is too low'"))
    #expect(failure.alarm == nil)
    #expect(failure.error.status == 400)
  }

  @Test("Busy answers keep a Retry-After that no app hangs on")
  func busy() {
    for (asked, told) in [
      ("3", "3"), ("0", "1"), ("-9", "1"), ("30000", "60"), ("x", "5"), ("99999999999999999999", "5"),
    ] {
      let failure = Self.judge(529, fields: ["retry-after": asked])
      #expect(failure.error.fields["retry-after"] == told)
      #expect(failure.error.status == 529)
    }
    let limited = Self.judge(429, Self.body("rate_limit_error", "organization org-1 exceeded 50 requests"))
    #expect(limited.error.status == 529)
    #expect(limited.error.type == "overloaded_error")
    #expect(!limited.error.message.contains("org"))
    #expect(limited.error.fields["retry-after"] == "5")
    #expect(Self.judge(503).error.status == 503)
    #expect(Self.judge(503).error.fields["retry-after"] != nil)
  }

  @Test("Other 4xx are rebuilt: type, short message, nothing else")
  func rebuilt() {
    let failure = Self.judge(400, Self.body("invalid_request_error", "messages: at least one\\u0000 message"))
    #expect(failure.error.message == "messages: at least one  message")
    #expect(failure.error.code == "upstream_refused")
    #expect(Self.judge(413, "<html>cloudflare</html>").error.status == 413)
    #expect(!Self.judge(413, "<html>cloudflare</html>").error.message.contains("cloudflare"))
    #expect(Self.judge(400, Self.body("authentication_error", "x")).error.type == "invalid_request_error")
    #expect(
      Self.judge(400, Self.body("x", String(repeating: "m", count: 5_000))).error.message.utf8.count <= 310)
    #expect(Self.judge(404, Self.body("not_found_error", "model: x")).error.type == "not_found_error")
  }

  @Test("Redirections, unknown statuses and server faults become 502 or 504")
  func faults() {
    #expect(Self.judge(302).error.status == 502)
    #expect(Self.judge(302).alarm == .redirected(status: 302))
    #expect(!Self.judge(302).unbilled)
    #expect(Self.judge(500).error.status == 502)
    #expect(Self.judge(504).error.type == "timeout_error")
    #expect(!Self.judge(504).unbilled)
    #expect(Self.judge(599).error.status == 502)
    #expect(!Self.judge(599).unbilled)
  }
}
