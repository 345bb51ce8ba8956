import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("How a body for Anthropic is read")
struct AnthropicBodyTests {
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

  @Test("A body cut at any octet is refused")
  func cutAnywhere() {
    let body = Array(Example.body(#","stream":true,"metadata":{"user_id":"\u00e9"}"#).utf8)
    for length in 0..<body.count {
      var request = Example.request("")
      request.body = Array(body.prefix(length))
      #expect(throws: ProviderRefusal.self) { try Example.anthropic().prepare(request) }
    }
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

  @Test("A refusal names the place and a remedy, and never quotes the body")
  func refusalText() {
    let refusal = Example.refusal(Example.body(#","secret-thing\u0007":"secret-value""#))
    #expect(refusal?.place == "secret-thing?")
    #expect(refusal?.message.contains("secret") == false)
    #expect(refusal?.message.contains("leave it out") == true)
  }
}
