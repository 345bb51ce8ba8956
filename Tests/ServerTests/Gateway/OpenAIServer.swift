import AppleSimulator
import Encodings
import Gateway
import HTTPMessages
import Stores
import Testing

@testable import Server

/// The whole server with a simulated OpenAI behind it.
struct OpenAIServer: Sendable {
  static let target = "/ai/openai/v1/chat/completions"
  static let key = "sk-proj-simulated-key-0123456789"

  let server: WholeServer
  let openAI: SimulatedOpenAI

  init(_ change: (inout Configuration) -> Void = { _ in }) async throws {
    let openAI = SimulatedOpenAI(
      apiKey: Self.key, now: { 1_796_040_000 },
      sleep: { try await Task.sleep(for: min($0, .milliseconds(20))) })
    self.openAI = openAI
    server = try await WholeServer(
      { configuration in
        var provider = Configuration.OpenAI(apiKey: Secret(Self.key))
        provider.models = ["gpt-4.1-mini", "gpt-6-luna"]
        provider.policy = .session
        configuration.openAI = provider
        change(&configuration)
      }, upstream: { try await openAI.respond(to: $0) })
  }

  /// A request of Chat Completions; `more` holds further members, such as `,"n":1`.
  static func question(
    _ text: String, model: String = "gpt-4.1-mini", stream: Bool = false, more: String = ""
  ) -> HTTPRequest {
    let prompt = JSONValue.string(text).text
    return request(
      #"{"model":"\#(model)","max_completion_tokens":64,"stream":\#(stream)\#(more),"messages":[{"role":"user","content":\#(prompt)}]}"#
    )
  }

  static func request(_ body: String) -> HTTPRequest {
    HTTPRequest(
      method: .post, target: target, fields: ["content-type": "application/json"], body: HTTPBody(body),
      peer: "192.0.2.1")
  }

  func ask(
    _ phone: Phone, _ text: String, model: String = "gpt-4.1-mini", stream: Bool = false, more: String = ""
  ) async throws -> HTTPResponse {
    try await server.send(
      try await phone.sign(Self.question(text, model: model, stream: stream, more: more)))
  }

  /// What the provider would have billed for what it served of the model, in pico-dollars, all of it fresh.
  func billed(_ model: String) throws -> Int64 {
    let row = try #require(PriceTable.shipped.row(provider: "openai", model: model, at: 0))
    return try #require(
      row.cost(
        of: TokenUsage(
          input: Int64(openAI.billing.inputTokens), output: Int64(openAI.billing.outputTokens))))
  }

  /// What came of an answer until it ended or broke off.
  static func read(_ response: HTTPResponse) async throws -> (text: String, whole: Bool) {
    guard case .stream(let stream, _) = response.body.content else { return (try await response.text, true) }
    var bytes: [UInt8] = []
    do {
      while let chunk = try await stream.next() { bytes += chunk }
      return (String(decoding: bytes, as: UTF8.self), true)
    } catch {
      return (String(decoding: bytes, as: UTF8.self), false)
    }
  }

  /// The words of a stream's first choice.
  static func words(_ text: String) throws -> String {
    var reader = ServerSentEventReader()
    return try reader.read(Array(text.utf8)).filter { $0.data != "[DONE]" }.map {
      let data = try JSONReader.read(Array($0.data.utf8))
      return data["choices"]?.elements?.first?["delta"]?["content"]?.string ?? ""
    }.joined()
  }
}
