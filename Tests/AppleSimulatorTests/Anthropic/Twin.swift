import AppleSimulator
import Encodings
import HTTPMessages
import Testing

/// A simulated Anthropic with what its tests say to it.
struct Twin {
  let anthropic: SimulatedAnthropic
  static let key = "sk-ant-simulated-key"

  init() {
    anthropic = SimulatedAnthropic(
      apiKey: Self.key, now: { 1_790_000_000 }, sleep: { try await Task.sleep(for: $0) })
  }

  func post(
    _ body: String, to target: String = "/v1/messages",
    fields: HTTPFields = ["x-api-key": key, "anthropic-version": "2023-06-01"]
  ) async throws -> HTTPResponse {
    try await anthropic.respond(
      to: HTTPRequest(method: .post, target: target, fields: fields, body: HTTPBody(body)))
  }

  func ask(_ prompt: String, maxTokens: Int = 1_000, stream: Bool = true, more: String = "") async throws
    -> HTTPResponse
  {
    let text = JSONValue.string(prompt).text
    return try await post(
      """
      {"model":"claude-haiku-4-5","max_tokens":\(maxTokens),"stream":\(stream)\(more),\
      "messages":[{"role":"user","content":\(text)}]}
      """)
  }

  /// The events of a streamed answer, with their data read.
  func events(_ prompt: String, maxTokens: Int = 1_000, more: String = "") async throws -> [Event] {
    let response = try await ask(prompt, maxTokens: maxTokens, more: more)
    #expect(response.status == 200)
    return try Self.events(try await response.body.collect(upTo: 1 << 24))
  }

  static func events(_ bytes: [UInt8]) throws -> [Event] {
    var reader = ServerSentEventReader()
    return try reader.read(bytes).map {
      Event(name: $0.event ?? "", data: try JSONReader.read(Array($0.data.utf8)))
    }
  }

  struct Event {
    let name: String
    let data: JSONNode
    var text: String? { data["delta"]?["text"]?.string }
  }
}

func read(_ response: HTTPResponse) async throws -> JSONNode {
  try JSONReader.read(try await response.body.collect(upTo: 1 << 24))
}
