import Gateway
import HTTPMessages
import Testing

@Suite("Header fields between app and Anthropic")
struct AnthropicFieldsTests {
  @Test("RULES §6.4: credentials, cookies, selectors and unknown fields stay behind")
  func request() throws {
    let call = try Example.prepare(
      Example.body(),
      fields: [
        "Authorization": "Bearer stolen", "X-Api-Key": "stolen", "Cookie": "a=b",
        "anthropic-workspace-id": "w",
        "x-forwarded-for": "1.2.3.4", "host": "evil", "x-attest-assertion": "a",
        "accept-encoding": "gzip, br",
        "transfer-encoding": "chunked", "content-length": "5", "x-stainless-retry-count": "2",
        "anthropic-dangerous-direct-browser-access": "true", "user-agent": "app",
      ])
    let names = call.fields.lines.map(\.name)
    #expect(names == ["content-type", "accept", "accept-encoding", "user-agent", "anthropic-version"])
    #expect(call.fields["accept-encoding"] == "identity")
    var sent = call.fields
    Example.anthropic().authorize(&sent, credential: "sk-ours")
    #expect(sent["x-api-key"] == "sk-ours")
    #expect(sent["authorization"] == nil)
  }

  @Test("The client's version is passed on by an allow-list, never replaced")
  func versions() throws {
    let call = try Example.prepare(Example.body(), fields: ["anthropic-version": "2026-10-21"])
    #expect(call.fields["anthropic-version"] == "2026-10-21")
    for bad in ["2099-01-01", "", "2023-06-01, 2026-10-21"] {
      #expect(
        Example.refusal(Example.body(), fields: ["anthropic-version": bad])?.code == "version_not_allowed")
    }
    var request = Example.request(Example.body())
    request.fields.append("anthropic-version", "2026-10-21")
    #expect(throws: ProviderRefusal.self) { try Example.anthropic().prepare(request) }
    request.fields.remove("anthropic-version")
    #expect(try Example.anthropic().prepare(request).fields["anthropic-version"] == "2023-06-01")
  }

  @Test("Betas are an allow-list, over all lines")
  func betas() throws {
    #expect(
      Example.refusal(Example.body(), fields: ["anthropic-beta": "context-1m-2025-08-07"])?.code
        == "beta_not_allowed")
    let allow: (inout AnthropicPolicy) -> Void = { $0.betas = ["good-1", "good-2"] }
    let call = try Example.prepare(Example.body(), fields: ["anthropic-beta": "good-1, good-2"], allow)
    #expect(call.fields["anthropic-beta"] == "good-1,good-2")
    #expect(Example.refusal(Example.body(), fields: ["anthropic-beta": "good-1,evil"], allow) != nil)
    #expect(Example.refusal(Example.body(), fields: ["anthropic-beta": "good-1\u{301}"], allow) != nil)
  }

  @Test("Other media types and codings are refused")
  func mediaTypes() throws {
    for bad in ["text/plain", "", "application/json-x", "application/x-www-form-urlencoded"] {
      #expect(Example.refusal(Example.body(), fields: ["content-type": bad])?.status == 415)
    }
    #expect(Example.refusal(Example.body(), fields: ["content-encoding": "gzip"])?.status == 415)
    #expect(
      throws: Never.self,
      performing: {
        try Example.prepare(Example.body(), fields: ["content-type": "Application/JSON; charset=utf-8"])
      })
  }

  @Test("RULES §6.4: the operator's fields of an answer stay behind")
  func answer() {
    let fields = Example.anthropic().answerFields([
      "Content-Type": "text/event-stream", "request-id": "req_1", "anthropic-organization-id": "org",
      "anthropic-ratelimit-requests-remaining": "1", "set-cookie": "a=b", "server": "x", "retry-after": "9",
      "content-length": "5", "transfer-encoding": "chunked", "x-api-key": "k",
    ])
    #expect(fields.lines.map(\.name) == ["content-type", "request-id", "cache-control", "x-accel-buffering"])
    #expect(fields["content-type"] == "text/event-stream")
    #expect(fields["cache-control"]?.contains("no-transform") == true)
  }
}
