import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("What Anthropic may be given to read, and its bound")
struct AnthropicContentTests {
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
}
