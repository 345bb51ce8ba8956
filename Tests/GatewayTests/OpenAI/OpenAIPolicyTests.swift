import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("What an app may ask of OpenAI")
struct OpenAIPolicyTests {
  @Test("A plain request is bounded, named, kept out of the store and served at the standard price")
  func plain() throws {
    let call = try Chat.prepare(Chat.body(), pseudonym: "p-1")
    let root = try JSONReader.read(call.body)
    #expect(root["max_completion_tokens"]?.integer == 4_096 && call.outputBound == 4_096)
    #expect(root["safety_identifier"]?.string == "p-1" && root["user"] == nil)
    #expect(root["store"]?.bool == false && root["service_tier"]?.string == "default")
    #expect(root["stream_options"] == nil && !call.hidesUsage)
    #expect(call.path == "/v1/chat/completions" && call.model == Chat.model && call.price != nil)
    #expect(call.inputBound >= Int64(call.body.count))
    #expect(call.reserve == call.inputBound * 400_000 + 4_096 * 1_600_000)
  }

  @Test(
    "Both names of the output limit are clamped; null is none",
    arguments: ["max_tokens", "max_completion_tokens"])
  func clamp(_ name: String) throws {
    #expect(try Chat.sent(Chat.body(#","\#(name)":4097"#))[name]?.integer == 4_096)
    #expect(try Chat.sent(Chat.body(#","\#(name)":16"#))[name]?.integer == 16)
    #expect(try Chat.prepare(Chat.body(#","\#(name)":16"#)).outputBound == 16)
    let null = try Chat.sent(Chat.body(#","\#(name)":null"#))
    #expect(null["max_completion_tokens"]?.integer == 4_096)
    let big = try Chat.prepare(Chat.body(#","\#(name)":9223372036854775807"#)) { $0.maximumOutput = .max }
    #expect(big.outputBound == 32_768)
    for bad in ["100.0", "1e2", "\"100\"", "0", "-1", "true", "[1]", "9223372036854775808", "1E400", "01"] {
      let refusal = Chat.refusal(Chat.body(#","\#(name)":\#(bad)"#))
      #expect(refusal?.place == name || refusal?.code == "invalid_json", "\(bad)")
    }
  }

  @Test("Of two limits both are clamped, and the higher one bounds")
  func bothLimits() throws {
    let call = try Chat.prepare(Chat.body(#","max_tokens":10,"max_completion_tokens":9000"#))
    let root = try JSONReader.read(call.body)
    #expect(root["max_tokens"]?.integer == 10 && root["max_completion_tokens"]?.integer == 4_096)
    #expect(call.outputBound == 4_096)
  }

  @Test("One answer a request, more only where the operator allows, and then each is reserved for")
  func choices() throws {
    #expect(try Chat.prepare(Chat.body(#","n":1"#)).outputBound == 4_096)
    for bad in ["2", "128"] {
      #expect(Chat.refusal(Chat.body(#","n":\#(bad)"#))?.code == "choices_not_allowed")
    }
    for bad in ["0", "-1", "1.0", "\"1\"", "[1]"] {
      #expect(Chat.refusal(Chat.body(#","n":\#(bad)"#))?.place == "n")
    }
    let three = try Chat.prepare(Chat.body(#","n":3,"max_tokens":100"#)) { $0.maximumChoices = 3 }
    #expect(three.outputBound == 300)
  }

  @Test(
    "What moves the price or cannot be bounded is refused by name",
    arguments: [
      "audio", "prediction", "web_search_options", "moderation", "metadata", "functions", "function_call",
      "prompt_cache_retention", "previous_response_id", "conversation", "background", "speed", "Max_Tokens",
      "input", "thinking", "extra_body",
    ])
  func refusedFields(_ name: String) {
    let refusal = Chat.refusal(Chat.body(#","\#(name)":null"#))
    #expect(refusal?.code == "field_not_allowed" && refusal?.place == name)
  }

  @Test(
    "Dearer tiers, storing and other modalities are refused, a project's own choice becomes the standard one")
  func serving() throws {
    for tier in [#""priority""#, #""flex""#, #""fast""#, #""scale""#, #""ultrafast""#, "7", #"["auto"]"#] {
      #expect(Chat.refusal(Chat.body(#","service_tier":\#(tier)"#))?.place == "service_tier", "\(tier)")
    }
    for tier in [#""auto""#, #""default""#, "null"] {
      #expect(try Chat.sent(Chat.body(#","service_tier":\#(tier)"#))["service_tier"]?.string == "default")
    }
    #expect(Chat.refusal(Chat.body(#","store":true"#))?.code == "store_not_allowed")
    #expect(Chat.refusal(Chat.body(#","store":"no""#))?.code == "store_not_allowed")
    #expect(try Chat.sent(Chat.body(#","store":null"#))["store"]?.bool == false)
    #expect(Chat.refusal(Chat.body(#","modalities":["text","audio"]"#))?.code == "modality_not_allowed")
    #expect(try Chat.sent(Chat.body(#","modalities":["text"]"#))["modalities"] != nil)
    #expect(
      Chat.refusal(Chat.body(#","prompt_cache_options":{"ttl":"12h"}"#))?.code == "cache_ttl_not_allowed")
    #expect(Chat.refusal(Chat.body(#","prompt_cache_options":{"ttl":"30m","mode":"explicit"}"#)) == nil)
  }

  @Test("The usage is asked for in every stream, and the app's own shape is remembered")
  func streamOptions() throws {
    let asks: [(more: String, hides: Bool)] = [
      (#","stream":true"#, true), (#","stream":true,"stream_options":null"#, true),
      (#","stream":true,"stream_options":{}"#, true),
      (#","stream":true,"stream_options":{"include_usage":false}"#, true),
      (#","stream":true,"stream_options":{"include_usage":null}"#, true),
      (#","stream":true,"stream_options":{"include_obfuscation":false}"#, true),
      (#","stream":true,"stream_options":{"include_usage":true}"#, false),
    ]
    for (more, hides) in asks {
      let call = try Chat.prepare(Chat.body(more))
      #expect(try JSONReader.read(call.body)["stream_options"]?["include_usage"]?.bool == true, "\(more)")
      #expect(call.hidesUsage == hides && call.streamed, "\(more)")
    }
    let kept = try Chat.sent(Chat.body(#","stream":true,"stream_options":{"include_obfuscation":false}"#))
    #expect(kept["stream_options"]?["include_obfuscation"]?.bool == false)
    #expect(Chat.refusal(Chat.body(#","stream":true,"stream_options":{"x":1}"#))?.code == "field_not_allowed")
    #expect(Chat.refusal(Chat.body(#","stream":true,"stream_options":[1]"#))?.place == "stream_options")
    #expect(Chat.refusal(Chat.body(#","stream":1"#))?.place == "stream")
    #expect(
      Chat.refusal(Chat.body(#","stream":true,"stream_options":{"include_usage":1}"#))?.place
        == "stream_options.include_usage")
  }

  @Test("The provider knows the pseudonym and nothing of the app's own user id")
  func pseudonym() throws {
    let named = Chat.body(#","user":"ann@example.com","safety_identifier":"ann""#)
    let root = try Chat.sent(named, pseudonym: "p-1")
    #expect(root["user"]?.string == "p-1" && root["safety_identifier"]?.string == "p-1")
    let nobody = try Chat.sent(named)
    #expect(nobody["user"]?.isNull == true && nobody["safety_identifier"]?.isNull == true)
  }

  @Test("Only listed models pass, under the provider's own name, and only with a price")
  func models() throws {
    #expect(try Chat.sent(Chat.body(model: "small"))["model"]?.string == Chat.model)
    for name in ["gpt-6-sol", "", "small ", "SMALL", "*", "../x"] {
      #expect(Chat.refusal(Chat.body(model: name))?.code == "model_not_allowed", "\(name)")
    }
    #expect(Chat.refusal(#"{"messages":[]}"#)?.place == "model")
    #expect(Chat.refusal(Chat.body()) { $0.models[Chat.model] = "gpt-unknown" }?.code == "model_not_priced")
  }

  @Test("Tools that the app runs pass; no other does")
  func tools() throws {
    let function =
      #"{"type":"function","function":{"name":"f","parameters":{"type":"object"},"strict":true}}"#
    let call = try Chat.prepare(Chat.body(#","tools":[\#(function)],"tool_choice":"auto""#))
    #expect(!call.visibleOnly)
    for type in ["web_search", "file_search", "code_interpreter", "mcp", "custom", "computer", ""] {
      let refusal = Chat.refusal(Chat.body(#","tools":[{"type":"\#(type)","\#(type)":{}}]"#))
      #expect(refusal?.code == "tool_not_allowed", "\(type)")
    }
    #expect(Chat.refusal(Chat.body(#","tools":[{"type":"function","function":{},"cache":1}]"#)) != nil)
    #expect(Chat.refusal(Chat.body(#","tools":{}"#))?.place == "tools")
    #expect(
      Chat.refusal(Chat.body(#","tools":[{"type":"custom","custom":{"name":"c"}}]"#)) {
        $0.tools = ["custom"]
      } == nil)
    // What the operator lists can still be only what the app runs.
    #expect(Chat.refusal(Chat.body(#","tools":[{"type":"mcp","mcp":{}}]"#)) { $0.tools = ["mcp"] } != nil)
  }

  @Test("RULES §5.2: an abort is charged by what was seen only where all output is seen")
  func visible() throws {
    #expect(try Chat.prepare(Chat.body()).visibleOnly)
    #expect(try !Chat.prepare(Chat.body(model: Chat.reasoning)).visibleOnly)
    #expect(
      try !Chat.prepare(Chat.body(#","reasoning_effort":"minimal""#, model: Chat.reasoning)).visibleOnly)
    #expect(try Chat.prepare(Chat.body(#","reasoning_effort":"none""#, model: Chat.reasoning)).visibleOnly)
  }

  @Test("Another path, method, query, type or coding is refused")
  func requests() {
    func refusal(_ change: (inout ProviderRequest) -> Void) -> ProviderRefusal? {
      var request = Chat.request(Chat.body())
      change(&request)
      do {
        _ = try Chat.provider().prepare(request)
        return nil
      } catch { return error }
    }
    #expect(refusal { _ in } == nil)
    for path in ["/v1/files", "/v1/chat/completions/", "/v1/responses", "/v1/chat/completions/../files"] {
      #expect(refusal { $0.path = path }?.status == 404)
    }
    #expect(refusal { $0.method = .get }?.status == 405)
    #expect(refusal { $0.query = "x" }?.status == 400)
    #expect(refusal { $0.fields["content-type"] = "text/plain" }?.status == 415)
    #expect(refusal { $0.fields["content-encoding"] = "gzip" }?.status == 415)
  }

  @Test("The operator's credential and nothing of the client's is sent")
  func fields() throws {
    var request = Chat.request(Chat.body())
    request.fields = [
      "content-type": "application/json", "authorization": "Bearer stolen", "openai-organization": "org",
      "openai-project": "p", "openai-beta": "x", "cookie": "c", "x-stainless-retry-count": "1",
    ]
    var fields = try Chat.provider().prepare(request).fields
    #expect(Set(fields.lines.map(\.name)) == ["content-type", "accept", "accept-encoding", "user-agent"])
    Chat.provider().authorize(&fields, credential: "sk-ours")
    #expect(fields.values("authorization") == ["Bearer sk-ours"])
    #expect(fields["accept-encoding"] == "identity")
    let answered = Chat.provider().answerFields([
      "content-type": "text/event-stream", "openai-organization": "org", "x-ratelimit-limit-requests": "1",
      "set-cookie": "a=b", "openai-processing-ms": "3",
    ])
    #expect(Set(answered.lines.map(\.name)) == ["content-type", "cache-control", "x-accel-buffering"])
  }

  @Test("Hostile bodies are refused and nothing is forwarded")
  func hostile() {
    let deep = String(repeating: "[", count: 100_000)
    let bodies: [(String, String)] = [
      (#"{"model":"gpt-4.1-mini","messages":\#(deep)"#, "invalid_json"),
      (#"{"max_tokens":1,"max\u005ftokens":9999,"model":"gpt-4.1-mini","messages":[]}"#, "invalid_json"),
      (Chat.body(#","max_tokens":1e999999"#), "invalid_request"),
      (Chat.body(#","temperature":1"#) + "x", "invalid_json"), ("", "invalid_json"),
      ("[]", "invalid_request"),
      (#"{"model":"gpt-4.1-mini"}"#, "invalid_request"),
    ]
    for (body, code) in bodies { #expect(Chat.refusal(body)?.code == code, "\(body.prefix(60))") }
    var request = Chat.request(Chat.body())
    request.body =
      Array(#"{"model":"gpt-4.1-mini","messages":[{"role":"user","content":""#.utf8) + [0xC3, 0x28]
    #expect(throws: ProviderRefusal.self) { try Chat.provider().prepare(request) }
    request.body = [UInt8](repeating: 0x20, count: 20 << 20)
    #expect(throws: ProviderRefusal.self) { try Chat.provider().prepare(request) }
  }
}
