import Gateway
import Testing

@Suite("What may stand in a message for OpenAI")
struct OpenAIContentTests {
  private static func message(_ message: String) -> String {
    #"{"model":"\#(Chat.model)","messages":[\#(message)]}"#
  }

  private static let pixel = "data:image/png;base64,iVBORw0KGgo="

  @Test(
    "Every role and part that is bounded passes, also an answer's own message sent back",
    arguments: [
      #"{"role":"developer","content":"x"}"#, #"{"role":"system","content":[{"type":"text","text":"x"}]}"#,
      #"{"role":"user","name":"a","content":[{"type":"text","text":"x"}]}"#,
      #"{"role":"assistant","content":null,"refusal":null,"audio":null,"function_call":null,"annotations":[],"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
      #"{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#,
      #"{"role":"tool","tool_call_id":"1","content":"x"}"#,
      #"{"role":"user","content":[{"type":"text","text":"x","prompt_cache_breakpoint":{"mode":"explicit"}}]}"#,
    ])
  func allowed(_ message: String) {
    #expect(Chat.refusal(Self.message(message)) == nil)
  }

  @Test(
    "What has no size that can be seen, a price of its own or an unknown shape is refused",
    arguments: [
      #"{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"","format":"wav"}}]}"#,
      #"{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}"#,
      #"{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,"}}]}"#,
      #"{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}"#,
      #"{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://169.254.169.254/"}}]}"#,
      #"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:application/pdf;base64,AA=="}}]}"#,
      #"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,","file_id":"f"}}]}"#,
      #"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,","detail":"max"}}]}"#,
      #"{"role":"user","content":[{"type":"image_url","image_url":"data:image/png,"}]}"#,
      #"{"role":"system","content":[{"type":"image_url","image_url":{"url":"data:image/png,"}}]}"#,
      #"{"role":"user","content":[{"type":"text","text":"x","prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}}]}"#,
      #"{"role":"user","content":[{"type":"text","text":7}]}"#, #"{"role":"user","content":[7]}"#,
      #"{"role":"user","content":7}"#, #"{"role":"user"}"#, #"{"role":"user","content":null}"#,
      #"{"role":"function","name":"f","content":"x"}"#, #"{"role":"root","content":"x"}"#,
      #"{"role":"assistant","audio":{"id":"audio-1"}}"#, #"{"role":"user","content":"x","weight":0}"#,
      #"{"role":"assistant","tool_calls":[{"type":"mcp","mcp":{}}]}"#,
      #"{"role":"assistant","annotations":[{"type":"url_citation"}],"content":"x"}"#, "7", "[]",
    ])
  func refused(_ message: String) {
    let refusal = Chat.refusal(Self.message(message))
    #expect(refusal?.status == 400 && refusal?.place?.hasPrefix("messages[0]") == true)
  }

  @Test("RULES §5.3: an image counts by its number, text by its octets, all within the model's context")
  func bound() throws {
    let image = #"{"type":"image_url","image_url":{"url":"\#(Self.pixel)"}}"#
    let plain = try Chat.prepare(Chat.body(content: "[]")).inputBound
    let one = try Chat.prepare(Chat.body(content: "[\(image)]")).inputBound
    let two = try Chat.prepare(Chat.body(content: "[\(image),\(image)]")).inputBound
    #expect(one - plain > 25_000 && two - one == one - plain + 1)
    let long = try Chat.prepare(Chat.body(content: "\"" + String(repeating: "é", count: 500) + "\""))
      .inputBound
    #expect(long - (try Chat.prepare(Chat.body(content: "\"\"")).inputBound) == 1_000)
    let many = "[" + Array(repeating: image, count: 9).joined(separator: ",") + "]"
    #expect(Chat.refusal(Chat.body(content: many))?.code == "too_many_images")
    let huge = try Chat.prepare(Chat.body(content: "\"" + String(repeating: "x", count: 1_100_000) + "\""))
    #expect(huge.inputBound == 1_047_576)
  }
}
