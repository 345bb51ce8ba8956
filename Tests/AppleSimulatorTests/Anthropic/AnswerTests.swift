import AppleSimulator
import Encodings
import HTTPMessages
import Testing

@Suite("The simulated Anthropic answers")
struct AnswerTests {
  let twin = Twin()

  @Test("events come in the real order, with a ping and cumulative usage")
  func order() async throws {
    let events = try await twin.events("hello")
    var names = events.map(\.name)
    let deltas = names.filter { $0 == "content_block_delta" }.count
    names.removeAll { $0 == "content_block_delta" }
    #expect(
      names == [
        "message_start", "content_block_start", "ping", "content_block_stop", "message_delta", "message_stop",
      ])
    for event in events { #expect(event.data["type"]?.string == event.name) }
    let start = try #require(events.first?.data["message"]?["usage"])
    #expect(start["input_tokens"]?.integer ?? 0 > 0)
    #expect(start["output_tokens"]?.integer == 1)
    let end = try #require(events.first { $0.name == "message_delta" }?.data)
    #expect(end["usage"]?["output_tokens"]?.integer == Int64(deltas))
    #expect(end["delta"]?["stop_reason"]?.string == "end_turn")
    #expect(twin.anthropic.billing.outputTokens == deltas)
    #expect(Int64(twin.anthropic.billing.inputTokens) == start["input_tokens"]?.integer)
    #expect(twin.anthropic.billing.openStreams == 0)
    #expect(twin.anthropic.billing.abortedStreams == 0)
  }

  @Test("streamed and unstreamed say the same, and address the prompt")
  func same() async throws {
    let streamed = try await twin.events("Where is Lyon?").compactMap(\.text).joined()
    let message = try await read(try await twin.ask("Where is Lyon?", stream: false))
    #expect(message["content"]?.elements?.first?["text"]?.string == streamed)
    #expect(streamed.contains("“Where is Lyon?”"))
    #expect(message["type"]?.string == "message")
    #expect(message["stop_reason"]?.string == "end_turn")
    #expect(twin.anthropic.billing.outputTokens == 2 * Int(message["usage"]?["output_tokens"]?.integer ?? 0))
  }

  @Test("max_tokens is respected", arguments: [0, 1, 7])
  func limit(maxTokens: Int) async throws {
    let events = try await twin.events("hello", maxTokens: maxTokens)
    #expect(events.compactMap(\.text).count == maxTokens)
    let end = try #require(events.first { $0.name == "message_delta" }?.data)
    #expect(end["delta"]?["stop_reason"]?.string == "max_tokens")
    #expect(end["usage"]?["output_tokens"]?.integer == Int64(maxTokens))
    #expect(twin.anthropic.billing.outputTokens == maxTokens)
  }

  @Test("thinking counts as output and is cut by max_tokens too")
  func thinking() async throws {
    let events = try await twin.events("hello [simulate: thinking]", maxTokens: 14)
    let types = events.filter { $0.name == "content_block_start" }
      .compactMap { $0.data["content_block"]?["type"]?.string }
    #expect(types == ["thinking", "text"])
    #expect(events.contains { $0.data["delta"]?["type"]?.string == "signature_delta" })
    let usage = try #require(events.first { $0.name == "message_delta" }?.data["usage"])
    #expect(usage["output_tokens"]?.integer == 14)
    let thought = try #require(usage["output_tokens_details"]?["thinking_tokens"]?.integer)
    #expect(thought > 0 && thought < 14)
  }

  @Test("a tool is called by the request's name, with JSON that comes in parts")
  func tool() async throws {
    let events = try await twin.events(
      "weather [simulate: tool]", more: #","tools":[{"name":"look_up","input_schema":{"type":"object"}}]"#)
    let block = try #require(events.first { $0.name == "content_block_start" }?.data["content_block"])
    #expect(block["name"]?.string == "look_up")
    let json = events.compactMap { $0.data["delta"]?["partial_json"]?.string }.joined()
    #expect(try JSONReader.read(Array(json.utf8))["location"]?.string == "Lyon, France")
    let end = events.first { $0.name == "message_delta" }
    #expect(end?.data["delta"]?["stop_reason"]?.string == "tool_use")
    let message = try await read(try await twin.ask("weather [simulate: tool]", stream: false))
    #expect(message["content"]?.elements?.first?["input"]?["location"]?.string == "Lyon, France")
  }

  @Test("count_tokens and the bill agree, and input never exceeds the octets by more than the frame")
  func count() async throws {
    let body = """
      {"model":"claude-haiku-4-5","messages":[{"role":"user","content":"What is new in Lyon today?"}]}
      """
    let counted = try await read(try await twin.post(body, to: "/v1/messages/count_tokens"))
    let tokens = try #require(counted["input_tokens"]?.integer)
    #expect(tokens < 26 + 10)
    #expect(twin.anthropic.billing.inputTokens == 0)
    _ = try await twin.ask("What is new in Lyon today?", stream: false)
    #expect(twin.anthropic.billing.inputTokens == Int(tokens))
  }

  @Test("models are listed and found by id")
  func models() async throws {
    let fields: HTTPFields = ["authorization": "Bearer \(Twin.key)", "anthropic-version": "2026-10-21"]
    let list = try await twin.anthropic.respond(
      to: HTTPRequest(method: .get, target: "/v1/models?limit=5", fields: fields))
    let ids = try await read(list)["data"]?.elements?.compactMap { $0["id"]?.string } ?? []
    #expect(ids.contains("claude-haiku-4-5"))
    let one = try await twin.anthropic.respond(
      to: HTTPRequest(method: .get, target: "/v1/models/\(ids[0])", fields: fields))
    #expect(try await read(one)["id"]?.string == ids[0])
  }
}
