import AppleSimulator
import Encodings
import HTTPMessages
import Testing

@Suite("The simulated OpenAI")
struct SimulatedOpenAITests {
  private static let key = "sk-simulated"
  private let openAI = SimulatedOpenAI(
    apiKey: key, now: { 1_790_000_000 }, sleep: { try await Task.sleep(for: $0) })

  private func post(_ body: String, key: String? = "Bearer \(key)") async throws -> HTTPResponse {
    var request = HTTPRequest(method: .post, target: "/v1/chat/completions", body: HTTPBody(body))
    if let key { request.fields["authorization"] = key }
    return try await openAI.respond(to: request)
  }

  private func body(_ prompt: String, _ more: String = "", model: String = "gpt-4.1-mini") -> String {
    #"{"model":"\#(model)","messages":[{"role":"user","content":\#(JSONValue.string(prompt).text)}]\#(more)}"#
  }

  private func chunks(_ prompt: String, _ more: String = "") async throws -> [JSONNode] {
    let response = try await post(body(prompt, #","stream":true\#(more)"#))
    var reader = ServerSentEventReader()
    let events = reader.read(try await response.body.collect(upTo: 1 << 22))
    #expect(events.last?.data == "[DONE]" && events.allSatisfy { $0.event == nil })
    return try events.dropLast().map { try JSONReader.read(Array($0.data.utf8)) }
  }

  @Test("chunks come in the real order: role, pieces, reason, and the usage where it was asked for")
  func order() async throws {
    let plain = try await chunks("hello")
    let choices = plain.compactMap { $0["choices"]?.elements?.first }
    #expect(choices.count == plain.count && plain.allSatisfy { $0["usage"] == nil })
    #expect(choices.first?["delta"]?["role"]?.string == "assistant")
    #expect(
      choices.last?["finish_reason"]?.string == "stop" && choices.last?["delta"]?.members?.isEmpty == true)
    let pieces = choices.dropFirst().dropLast()
    #expect(pieces.count == openAI.billing.outputTokens)
    let asked = try await chunks("hello", #","stream_options":{"include_usage":true}"#)
    #expect(asked.dropLast().allSatisfy { $0["usage"]?.isNull == true })
    let usage = try #require(asked.last?["usage"])
    #expect(asked.last?["choices"]?.elements?.isEmpty == true)
    #expect(usage["completion_tokens"]?.integer == Int64(pieces.count))
    #expect(openAI.billing.inputTokens == 2 * Int(usage["prompt_tokens"]?.integer ?? 0))
  }

  @Test("reasoning is silent and billed; the limit holds both; choices are billed each")
  func hiddenTokens() async throws {
    let ask = #","max_completion_tokens":20,"n":2"#
    let response = try await read(try await post(body("[simulate: thinking] hello", ask)))
    let usage = try #require(response["usage"])
    let reasoning = try #require(usage["completion_tokens_details"]?["reasoning_tokens"]?.integer)
    #expect(reasoning > 0 && usage["completion_tokens"]?.integer == 40 && openAI.billing.outputTokens == 40)
    #expect(response["choices"]?.elements?.count == 2)
    #expect(response["choices"]?.elements?.first?["finish_reason"]?.string == "length")
    _ = try await chunks("[simulate: thinking] hello", ask)
    #expect(openAI.billing.outputTokens == 80)
  }

  @Test("who tells it to answer with JSON alone, as functions do, gets JSON")
  func json() async throws {
    let messages = """
      [{"role":"system","content":"Answer with one JSON value and nothing else."},{"role":"user","content":"soup"}]
      """
    let answer = try await read(try await post("{\"model\":\"gpt-4.1-mini\",\"messages\":\(messages)}"))
    let text = try #require(answer["choices"]?.elements?.first?["message"]?["content"]?.string)
    #expect(try JSONReader.read(Array(text.utf8))["kcal"]?.integer != nil)
  }

  @Test("a tool is called in pieces of its arguments")
  func tool() async throws {
    let tools = #","tools":[{"type":"function","function":{"name":"weather"}}]"#
    let deltas = try await chunks("[simulate: tool]", tools).compactMap {
      $0["choices"]?.elements?.first?["delta"]?["tool_calls"]?.elements?.first?["function"]
    }
    #expect(deltas.first?["name"]?.string == "weather")
    let arguments = deltas.compactMap { $0["arguments"]?.string }.joined()
    #expect(try JSONReader.read(Array(arguments.utf8))["location"]?.string == "Lyon, France")
  }

  @Test("it refuses what the real API refuses, and bills nothing")
  func refusals() async throws {
    let hello = body("hello")
    let cases: [(String, Int, String?)] = [
      ("", 400, nil), ("[]", 400, nil), ("{}", 400, "missing_required_parameter"),
      (#"{"model":"gpt-4.1-mini"}"#, 400, "missing_required_parameter"),
      (body("hello", model: "gpt-0"), 404, "model_not_found"),
      (body("hello", #","zzz":1"#), 400, "unknown_parameter"),
      (body("hello", #","stream_options":{}"#), 400, nil),
      (body("hello", #","n":0"#), 400, "integer_below_min_value"),
      (body("hello", #","max_tokens":1,"max_completion_tokens":1"#), 400, "invalid_parameter_combination"),
      (body("hello", #","max_tokens":1"#, model: "gpt-6-luna"), 400, "unsupported_parameter"),
      (body("hello", #","max_tokens":"1""#), 400, "invalid_type"), (body("[simulate: nonsense]"), 400, nil),
    ]
    for (text, status, code) in cases {
      let response = try await post(text)
      let error = try await read(response)["error"]
      #expect(response.status == status && error?["code"]?.string == code, "\(text)")
    }
    for key in [nil, "Bearer wrong", "Basic x"] as [String?] {
      #expect(try await post(hello, key: key).status == 401)
    }
    let poor = try await post(body("[simulate: no credit]"))
    #expect(poor.status == 429)
    #expect(try await read(poor)["error"]?["code"]?.string == "insufficient_quota")
    #expect(openAI.billing.inputTokens == 0 && openAI.billing.refusals == cases.count + 4)
  }
}
