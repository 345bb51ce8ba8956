import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("What an app may ask of Anthropic")
struct AnthropicPolicyTests {
  @Test(
    "max_tokens that is no plain whole number is refused, never rounded",
    arguments: [
      "100.0", "1e2", "\"100\"", "-1", "-0", "null", "true", "[100]", "0.5", "9223372036854775808",
      "99999999999999999999999999999999999", "1E400",
    ])
  func badMaximum(_ spelled: String) {
    let refusal = Example.refusal(Example.body(maximum: spelled))
    #expect(refusal?.place == "max_tokens")
    #expect(refusal?.status == 400)
  }

  @Test("max_tokens is clamped to the least of policy and model, and put in where it is absent")
  func clamp() throws {
    #expect(Example.text(try Example.prepare(Example.body(maximum: "4097"))) == Example.body(maximum: "4096"))
    #expect(Example.text(try Example.prepare(Example.body(maximum: "4096"))) == Example.body(maximum: "4096"))
    let big = try Example.prepare(Example.body(maximum: "9223372036854775807")) { $0.maximumOutput = .max }
    #expect(big.outputBound == 64_000)
    let injected = try Example.prepare(Example.body(maximum: nil))
    #expect(injected.outputBound == 4_096)
    let root = try JSONReader.read(injected.body)
    #expect(root["max_tokens"]?.integer == 4_096)
    #expect(try Example.prepare(Example.body(maximum: "0")).outputBound == 0)
  }

  @Test("Only listed models pass, under the provider's own name")
  func models() throws {
    let body = #"{"model":"claude-opus-5","max_tokens":1,"messages":[]}"#
    #expect(Example.refusal(body)?.code == "model_not_allowed")
    for name in ["", "small ", "SMALL", "claude-haiku-4-5\\u0000", "../x", "*"] {
      #expect(Example.refusal(#"{"model":"\#(name)","max_tokens":1,"messages":[]}"#)?.place == "model")
    }
    #expect(Example.refusal(#"{"model":7,"max_tokens":1,"messages":[]}"#)?.place == "model")
    #expect(Example.refusal(#"{"max_tokens":1,"messages":[]}"#)?.place == "model")
    let call = try Example.prepare(#"{"max_tokens":1,"model":"small","messages":[]}"#)
    #expect(Example.text(call) == #"{"max_tokens":1,"model":"claude-haiku-4-5","messages":[]}"#)
    #expect(call.model == Example.model)
  }

  @Test("RULES §5.3: a model without a price row is refused")
  func unpriced() {
    let refusal = Example.refusal(Example.body()) { $0.models[Example.model] = "claude-unknown-9" }
    #expect(refusal?.code == "model_not_priced")
  }

  @Test(
    "Fields that are not listed are refused by name",
    arguments: [
      "container", "mcp_servers", "diagnostics", "betas", "user_profile_id", "workspace_id",
      "context_management",
      "n", "fallbacks", "Max_Tokens", "max_tokens ", "max_tokens_to_sample",
    ])
  func unknownFields(_ name: String) {
    let refusal = Example.refusal(Example.body(#","\#(name)":null"#))
    #expect(refusal?.code == "field_not_allowed")
    #expect(refusal?.place == name)
  }

  @Test("Dearer ways of serving are refused, a choice becomes the standard one")
  func serving() throws {
    #expect(Example.refusal(Example.body(#","speed":"fast""#))?.code == "speed_not_allowed")
    #expect(Example.refusal(Example.body(#","inference_geo":"us""#))?.code == "inference_geo_not_allowed")
    #expect(Example.refusal(Example.body(#","service_tier":"priority""#))?.place == "service_tier")
    #expect(Example.refusal(Example.body(#","service_tier":["auto"]"#))?.place == "service_tier")
    let call = try Example.prepare(Example.body(#","service_tier":"auto""#))
    #expect(Example.text(call) == Example.body(#","service_tier":"standard_only""#))
    #expect(try Example.prepare(Example.body(#","speed":"standard""#)).changed == false)
  }

  @Test("The provider knows the pseudonym and nothing of the app's own user id")
  func pseudonym() throws {
    let own = try Example.prepare(
      Example.body(#","metadata":{"user_id":"ann@example.com","x":1}"#), pseudonym: "p-1")
    #expect(Example.text(own) == Example.body(#","metadata":{"user_id":"p-1"}"#))
    let none = try Example.prepare(Example.body(), pseudonym: "p-1")
    #expect(try JSONReader.read(none.body)["metadata"]?["user_id"]?.string == "p-1")
    let removed = try Example.prepare(Example.body(#","metadata":{"user_id":"ann"}"#))
    #expect(Example.text(removed) == Example.body(#","metadata":{}"#))
  }

  @Test("count_tokens has fields of its own, costs nothing, and is never given metadata")
  func countTokens() throws {
    let body = #"{"model":"small","messages":[{"role":"user","content":"hi"}]}"#
    let call = try Example.prepare(body, path: "/v1/messages/count_tokens", pseudonym: "p")
    #expect(call.path == "/v1/messages/count_tokens")
    #expect(
      Example.text(call) == #"{"model":"claude-haiku-4-5","messages":[{"role":"user","content":"hi"}]}"#)
    #expect(call.reserve == 0)
    #expect(call.price == nil)
    #expect(Example.refusal(Example.body(), path: "/v1/messages/count_tokens")?.place == "max_tokens")
  }

  @Test(
    "No other path, query or method is reachable with the operator's key",
    arguments: [
      "/v1/files", "/v1/messages/", "/v1/messages/batches", "/v1/messages/../files", "/v1/messages%2f",
      "/V1/messages",
      "", "/v1/messages/count_tokens/",
    ])
  func paths(_ path: String) {
    #expect(Example.refusal(Example.body(), path: path)?.status == 404)
  }

  @Test("Query and method are refused")
  func queryAndMethod() {
    var request = Example.request(Example.body())
    request.query = "workspace_id=w"
    #expect(throws: ProviderRefusal.self) { try Example.anthropic().prepare(request) }
    request.query = "beta=true"
    #expect(throws: Never.self) { try Example.anthropic().prepare(request) }
    request.method = .get
    #expect(throws: ProviderRefusal.self) { try Example.anthropic().prepare(request) }
  }
}
