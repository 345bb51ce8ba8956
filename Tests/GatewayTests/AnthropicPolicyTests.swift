import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("What an app may ask of Anthropic")
struct AnthropicPolicyTests {
  @Test("An untouched body is forwarded octet by octet, odd spelling included")
  func untouched() throws {
    let body =
      " {\"model\" : \"\(Example.model)\",\n\t\"max_tokens\":100, \"messages\":[{\"content\":\"h\\u00e9\\/\",\"role\":\"user\"}]}\n"
    let call = try Example.prepare(body)
    #expect(Example.text(call) == body)
    #expect(!call.changed)
    #expect(call.outputBound == 100)
    #expect(!call.streamed)
    #expect(call.visibleOnly)
  }

  @Test(
    "Equal names are refused however they are escaped",
    arguments: [
      #"{"model":"claude-haiku-4-5","max_tokens":10,"max_tokens":100000,"messages":[]}"#,
      #"{"model":"claude-haiku-4-5","max_tokens":10,"max\u005ftokens":100000,"messages":[]}"#,
      #"{"model":"claude-haiku-4-5","\u006dodel":"claude-opus-5","max_tokens":10,"messages":[]}"#,
      #"{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","role":"user","content":"a"}]}"#,
    ])
  func equalNames(_ body: String) {
    #expect(Example.refusal(body)?.code == "invalid_json")
  }

  @Test("An escaped name is the field that it spells")
  func escapedName() throws {
    let body = #"{"model":"small","max\u005ftokens":999999,"messages":[]}"#
    #expect(
      Example.text(try Example.prepare(body))
        == #"{"model":"claude-haiku-4-5","max\u005ftokens":4096,"messages":[]}"#)
  }

  @Test(
    "What is no JSON, or JSON that is read in two ways, is refused",
    arguments: [
      "", "null", "[]", "\"\"", "{", "{}x", "{\"model\":\"claude-haiku-4-5\",}", "\u{FEFF}{}", "{\"a\":01}",
      "{\"model\":\"\\ud800\"}", "{'model':1}", "NaN",
    ])
  func noJSON(_ body: String) {
    #expect(Example.refusal(body) != nil)
  }

  @Test("Bad UTF-8, UTF-16 and depth are refused")
  func encodings() {
    for body in [
      Array("{\"model\":\"".utf8) + [0xC0, 0x80] + Array("\"}".utf8), [0xFF, 0xFE, 0x7B, 0, 0x7D, 0],
      Array((String(repeating: "[", count: 100_000)).utf8),
      Array((#"{"model":"# + String(repeating: "{\"a\":", count: 100)).utf8),
    ] {
      var request = Example.request("")
      request.body = body
      #expect(throws: ProviderRefusal.self) { try Example.anthropic().prepare(request) }
    }
  }

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

  @Test(
    "Sources whose size cannot be seen are refused",
    arguments: [
      #"[{"type":"image","source":{"type":"url","url":"http://169.254.169.254/"}}]"#,
      #"[{"type":"image","source":{"type":"file","file_id":"f"}}]"#,
      #"[{"type":"image","source":{"type":"base64","data":"AA==","file_id":"f"}}]"#,
      #"[{"type":"image","source":{"type":"base64"}}]"#,
      #"[{"type":"image"}]"#,
      #"[{"type":"image","source":"x"}]"#,
      #"[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"url","url":"u"}}]}]"#,
      #"[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_result","content":"x"}]}]"#,
      #"[{"type":"document","source":{"type":"base64","data":"AA=="}}]"#,
      #"[{"type":"container_upload","file_id":"f"}]"#,
      #"[{"type":"server_tool_use","id":"x","name":"web_search","input":{}}]"#,
      #"[{"type":"text","text":"a","file_id":"f"}]"#,
      #"[{"type":"text","text":7}]"#,
      #"[{"text":"a"}]"#,
      #"[7]"#,
      #"{"type":"text","text":"a"}"#,
      "7", "null",
    ])
  func sources(_ content: String) {
    #expect(Example.refusal(Example.body(content: content)) != nil)
  }

  @Test("Documents, where allowed, are inline, and a PDF counts as the whole context")
  func documents() throws {
    let pdf =
      #"[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="}}]"#
    let call = try Example.prepare(Example.body(content: pdf)) { $0.allowsDocuments = true }
    #expect(call.inputBound == 200_000)
    let url = #"[{"type":"document","source":{"type":"url","url":"https://x"}}]"#
    #expect(
      Example.refusal(Example.body(content: url)) { $0.allowsDocuments = true }?.code == "source_not_allowed")
    let nested = #"""
      [{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"u"}}]}}]
      """#
    #expect(
      Example.refusal(Example.body(content: nested)) { $0.allowsDocuments = true }?.code
        == "source_not_allowed")
    let text = #"[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"abc"}}]"#
    #expect(try Example.prepare(Example.body(content: text)) { $0.allowsDocuments = true }.inputBound < 500)
  }

  @Test("RULES §5.3: text counts by octets, an image by the row's maximum, wherever it stands")
  func inputBound() throws {
    let plain = try Example.prepare(Example.body(content: #""\#(String(repeating: "é", count: 1_000))""#))
    #expect(plain.inputBound >= 2_000)
    #expect(plain.inputBound < 2_200)
    let image =
      #"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\#(String(repeating: "A", count: 100_000))"}}"#
    let one = try Example.prepare(Example.body(content: "[\(image)]"))
    #expect(one.inputBound > 4_800 && one.inputBound < 5_200)
    let inner = #"[{"type":"tool_result","tool_use_id":"t","content":[\#(image),\#(image)]}]"#
    let two = try Example.prepare(Example.body(content: inner))
    #expect(two.inputBound > 9_600 && two.inputBound < 10_100)
    let nine =
      "["
      + Array(repeating: #"{"type":"image","source":{"type":"base64","data":"A"}}"#, count: 9).joined(
        separator: ",") + "]"
    #expect(Example.refusal(Example.body(content: nine))?.code == "too_many_images")
    let text = #"{"type":"text","text":"\#(String(repeating: "a", count: 300_000))"}"#
    #expect(try Example.prepare(Example.body(content: "[\(text)]")).inputBound == 200_000)
  }

  @Test("Only tools that the app runs pass by default")
  func tools() throws {
    for type in ["web_search_20250305", "code_execution_20250825", "computer_20250124", "mcp", "", "Custom"] {
      let refusal = Example.refusal(Example.body(#","tools":[{"type":"\#(type)","name":"x"}]"#))
      #expect(refusal?.code == "tool_not_allowed")
      #expect(refusal?.place == "tools[0].type")
    }
    #expect(Example.refusal(Example.body(#","tools":[{"type":["custom"],"name":"x"}]"#)) != nil)
    #expect(
      Example.refusal(Example.body(#","tools":[{"name":"x","max_uses":3}]"#))?.code == "field_not_allowed")
    #expect(Example.refusal(Example.body(#","tools":{"name":"x"}"#))?.place == "tools")
    let call = try Example.prepare(
      Example.body(#","tools":[{"name":"x","input_schema":{"type":"object","url":"free"}}]"#))
    #expect(!call.visibleOnly)
    #expect(!call.changed)
  }

  @Test("A tool that Anthropic runs needs a price and a bound, and is reserved at its most")
  func serverTools() throws {
    let search = AnthropicPolicy.ServerTool(
      usageName: "web_search_requests", price: 10_000_000_000, maximumUses: 3)
    let allow: (inout AnthropicPolicy) -> Void = { $0.serverTools["web_search_20250305"] = search }
    func tools(_ more: String) -> String {
      Example.body(#","tools":[{"type":"web_search_20250305","name":"web_search"\#(more)}]"#)
    }
    for bad in ["", #","max_uses":0"#, #","max_uses":4"#, #","max_uses":2.0"#, #","max_uses":null"#] {
      #expect(Example.refusal(tools(bad), allow)?.code == "tool_uses_not_bounded")
    }
    let call = try Example.prepare(tools(#","max_uses":2"#), allow)
    #expect(call.inputBound == 600_000)
    #expect(call.reserve == 600_000 * 1_000_000 + 100 * 5_000_000 + 2 * 10_000_000_000)
  }

  @Test("Thinking is paid inside max_tokens")
  func thinking() throws {
    let call = try Example.prepare(Example.body(#","thinking":{"type":"enabled","budget_tokens":99}"#))
    #expect(!call.visibleOnly)
    for (budget, limit) in [
      ("100", "100"), ("5000", "100000"), ("-1", "100"), ("1.5", "100"), ("\"9\"", "100"),
    ] {
      let refusal = Example.refusal(
        Example.body(#","thinking":{"type":"enabled","budget_tokens":\#(budget)}"#, maximum: limit))
      #expect(refusal?.place == "thinking.budget_tokens")
    }
    #expect(Example.refusal(Example.body(#","thinking":{"type":"ultra"}"#))?.place == "thinking.type")
    #expect(Example.refusal(Example.body(#","thinking":{"type":"adaptive","x":1}"#)) != nil)
    #expect(try Example.prepare(Example.body(#","thinking":{"type":"disabled"}"#)).visibleOnly)
    let off = Example.refusal(Example.body(#","thinking":{"type":"adaptive"}"#)) { $0.allowsThinking = false }
    #expect(off?.code == "thinking_not_allowed")
  }

  @Test("An hour of cache needs leave and a price, wherever it is asked for")
  func cache() throws {
    let hour = #""cache_control":{"type":"ephemeral","ttl":"1h"}"#
    let places = [
      Example.body(",\(hour)"),
      Example.body(content: #"[{"type":"text","text":"a",\#(hour)}]"#),
      Example.body(#","system":[{"type":"text","text":"a",\#(hour)}]"#),
      Example.body(#","tools":[{"name":"x",\#(hour)}]"#),
      Example.body(
        content:
          #"[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a",\#(hour)}]}]"#),
    ]
    for body in places {
      #expect(Example.refusal(body)?.code == "cache_ttl_not_allowed")
      #expect(try Example.prepare(body) { $0.allowsLongCache = true }.cache == .hour)
    }
    for bad in [#""24h""#, "3600", "null", #"["5m"]"#] {
      #expect(Example.refusal(Example.body(#","cache_control":{"type":"ephemeral","ttl":\#(bad)}"#)) != nil)
    }
    #expect(Example.refusal(Example.body(#","cache_control":{"type":"ephemeral","scope":"global"}"#)) != nil)
    let short = try Example.prepare(Example.body(#","cache_control":{"type":"ephemeral"}"#))
    #expect(short.cache == .fiveMinutes)
    #expect(short.reserve == short.inputBound * 1_250_000 + 100 * 5_000_000)
    #expect(!short.changed)
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

  @Test("A message of the system's is text alone")
  func systemMessages() throws {
    func body(_ content: String) -> String {
      #"{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"system","content":\#(content)}]}"#
    }
    #expect(try !Example.prepare(body(#""be kind""#)).changed)
    let image = #"[{"type":"image","source":{"type":"base64","data":"A"}}]"#
    #expect(Example.refusal(body(image))?.code == "content_not_allowed")
  }

  @Test("RULES §5.3: prompts that the provider adds by itself are counted")
  func addedPrompts() throws {
    let plain = try Example.prepare(Example.body())
    let format = try Example.prepare(
      Example.body(#","output_config":{"format":{"type":"json_schema","schema":{}}}"#))
    #expect(format.inputBound > plain.inputBound + 1_024)
    let tool = try Example.prepare(Example.body(#","tools":[{"name":"x"}]"#))
    #expect(tool.inputBound > plain.inputBound + 1_024 + 64)
    let bash = try Example.prepare(Example.body(#","tools":[{"type":"bash_20250124","name":"bash"}]"#)) {
      $0.clientTools.insert("bash_20250124")
    }
    #expect(bash.inputBound > plain.inputBound + 2_048 + 64)
  }

  @Test("A stream flag that is no truth value is refused")
  func streamFlag() throws {
    for bad in ["1", "\"true\"", "null", "[]"] {
      #expect(Example.refusal(Example.body(#","stream":\#(bad)"#))?.place == "stream")
    }
    #expect(try Example.prepare(Example.body(#","stream":true"#)).streamed)
  }

  @Test("Roles other than the two, and bodies beyond the limits, are refused")
  func shapes() {
    for role in ["developer", "", "User"] {
      let body = #"{"model":"small","max_tokens":1,"messages":[{"role":"\#(role)","content":"x"}]}"#
      #expect(Example.refusal(body)?.place == "messages[0].role")
    }
    #expect(Example.refusal(Example.body()) { $0.maximumBody = 10 }?.status == 413)
    #expect(Example.refusal(Example.body()) { $0.maximumMessages = 0 }?.code == "too_many_messages")
    #expect(Example.refusal(#"{"model":"small","max_tokens":1}"#)?.place == "messages")
    #expect(Example.refusal(#"{"model":"small","max_tokens":1,"messages":{}}"#)?.place == "messages")
  }

  @Test("A body cut at any octet is refused")
  func cutAnywhere() {
    let body = Array(Example.body(#","stream":true,"metadata":{"user_id":"\u00e9"}"#).utf8)
    for length in 0..<body.count {
      var request = Example.request("")
      request.body = Array(body.prefix(length))
      #expect(throws: ProviderRefusal.self) { try Example.anthropic().prepare(request) }
    }
  }

  @Test("A refusal names the place and a remedy, and never quotes the body")
  func refusalText() {
    let refusal = Example.refusal(Example.body(#","secret-thing\u0007":"secret-value""#))
    #expect(refusal?.place == "secret-thing?")
    #expect(refusal?.message.contains("secret") == false)
    #expect(refusal?.message.contains("leave it out") == true)
  }
}
