import Encodings
import Gateway
import HTTPMessages

/// Requests and providers that the tests of this target share.
enum Example {
  static let model = "claude-haiku-4-5"

  static func anthropic(_ change: (inout AnthropicPolicy) -> Void = { _ in }) -> Anthropic {
    var policy = AnthropicPolicy(models: [
      model: model, "small": model, "claude-haiku-5-5": "claude-haiku-5-5",
    ])
    change(&policy)
    return Anthropic(policy: policy)
  }

  static func request(
    _ body: String, path: String = "/v1/messages", fields: HTTPFields = [:], pseudonym: String? = nil
  ) -> ProviderRequest {
    var all: HTTPFields = ["content-type": "application/json", "anthropic-version": "2023-06-01"]
    for line in fields.lines { all[line.name] = line.value }
    return ProviderRequest(
      method: .post, path: path, fields: all, body: Array(body.utf8), pseudonym: pseudonym, now: 1_800_000_000
    )
  }

  /// A body with one short message and these further members, such as `,"stream":true`.
  static func body(_ more: String = "", maximum: String? = "100", content: String = #""hi""#) -> String {
    let limit = maximum.map { #","max_tokens":\#($0)"# } ?? ""
    return #"{"model":"\#(model)"\#(limit),"messages":[{"role":"user","content":\#(content)}]\#(more)}"#
  }

  static func prepare(
    _ body: String, path: String = "/v1/messages", fields: HTTPFields = [:], pseudonym: String? = nil,
    _ change: (inout AnthropicPolicy) -> Void = { _ in }
  ) throws -> PreparedCall {
    try anthropic(change).prepare(request(body, path: path, fields: fields, pseudonym: pseudonym))
  }

  /// The refusal of a body, or nil when it would be forwarded.
  static func refusal(
    _ body: String, path: String = "/v1/messages", fields: HTTPFields = [:],
    _ change: (inout AnthropicPolicy) -> Void = { _ in }
  ) -> ProviderRefusal? {
    do {
      _ = try anthropic(change).prepare(request(body, path: path, fields: fields))
      return nil
    } catch {
      return error
    }
  }

  static func text(_ call: PreparedCall) -> String { String(decoding: call.body, as: UTF8.self) }
}

/// A stream of Anthropic's, event by event.
struct StreamText {
  private(set) var text = ""
  let newline: String

  init(newline: String = "\n") { self.newline = newline }

  func event(_ type: String, _ members: String = "") -> StreamText {
    var copy = self
    copy.text +=
      "event: \(type)\(newline)data: {\"type\":\"\(type)\"\(members.isEmpty ? "" : ",")\(members)}\(newline)\(newline)"
    return copy
  }

  func start(_ usage: String = #""input_tokens":10,"output_tokens":1"#) -> StreamText {
    event("message_start", #""message":{"id":"m","usage":{\#(usage)}}"#)
  }

  func block(_ type: String = "text") -> StreamText {
    event("content_block_start", #""index":0,"content_block":{"type":"\#(type)","text":""}"#)
  }

  func say(_ text: String, delta: String = "text_delta") -> StreamText {
    event("content_block_delta", #""index":0,"delta":{"type":"\#(delta)","text":"\#(text)"}"#)
  }

  func delta(_ usage: String, stop: String? = "end_turn") -> StreamText {
    event(
      "message_delta", #""delta":{"stop_reason":\#(stop.map { "\"\($0)\"" } ?? "null")},"usage":{\#(usage)}"#)
  }

  func stop() -> StreamText { event("content_block_stop", #""index":0"#).event("message_stop") }

  var bytes: [UInt8] { Array(text.utf8) }
}
