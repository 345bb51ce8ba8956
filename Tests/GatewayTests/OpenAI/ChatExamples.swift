import Encodings
import Gateway
import HTTPMessages

/// Requests, streams and calls of Chat Completions that the tests of this folder share.
enum Chat {
  static let model = "gpt-4.1-mini"
  static let reasoning = "gpt-6-luna"

  static func provider(_ change: (inout OpenAIPolicy) -> Void = { _ in }) -> OpenAI {
    var policy = OpenAIPolicy(models: [model: model, "small": model, reasoning: reasoning])
    change(&policy)
    return OpenAI(policy: policy)
  }

  /// A body with one short message and these further members, such as `,"stream":true`.
  static func body(_ more: String = "", content: String = #""hi""#, model: String = model) -> String {
    #"{"model":"\#(model)","messages":[{"role":"user","content":\#(content)}]\#(more)}"#
  }

  static func request(
    _ body: String, fields: HTTPFields = ["content-type": "application/json"], pseudonym: String? = nil
  ) -> ProviderRequest {
    ProviderRequest(
      method: .post, path: "/v1/chat/completions", fields: fields, body: Array(body.utf8),
      pseudonym: pseudonym,
      now: 1_800_000_000)
  }

  static func prepare(
    _ body: String, pseudonym: String? = nil, _ change: (inout OpenAIPolicy) -> Void = { _ in }
  ) throws -> PreparedCall {
    try provider(change).prepare(request(body, pseudonym: pseudonym))
  }

  /// What would be sent.
  static func sent(
    _ body: String, pseudonym: String? = nil, _ change: (inout OpenAIPolicy) -> Void = { _ in }
  ) throws -> JSONNode {
    try JSONReader.read(try prepare(body, pseudonym: pseudonym, change).body)
  }

  /// The refusal of a body, or nil when it would be forwarded.
  static func refusal(
    _ body: String, _ change: (inout OpenAIPolicy) -> Void = { _ in }
  ) -> ProviderRefusal? {
    do {
      _ = try provider(change).prepare(request(body))
      return nil
    } catch {
      return error
    }
  }

  static func run(_ events: [ProxyState.Event], body: String = body(#","stream":true"#)) throws
    -> [ProxyState.Action]
  {
    let provider = provider()
    var state = ProxyState(call: try prepare(body), provider: provider, secrets: [ProxyCall.key])
    return events.flatMap { state.received($0) }
  }

  static func forwarded(_ actions: [ProxyState.Action]) -> String {
    var octets: [UInt8] = []
    for case .forward(let chunk) in actions { octets += chunk }
    return String(decoding: octets, as: UTF8.self)
  }
}

/// A stream of Chat Completions, chunk by chunk.
struct ChatStream {
  private(set) var text = ""
  let newline: String

  init(newline: String = "\n") { self.newline = newline }

  func data(_ data: String) -> ChatStream {
    var copy = self
    copy.text += "data: \(data)\(newline)\(newline)"
    return copy
  }

  func chunk(_ members: String) -> ChatStream {
    data(#"{"id":"c","object":"chat.completion.chunk",\#(members)}"#)
  }

  func delta(_ delta: String, finish: String? = nil, usage: String = "null") -> ChatStream {
    let reason = finish.map { "\"\($0)\"" } ?? "null"
    return chunk(
      #""choices":[{"index":0,"delta":{\#(delta)},"finish_reason":\#(reason)}],"usage":\#(usage)"#)
  }

  func say(_ text: String) -> ChatStream { delta(#""content":"\#(text)""#) }

  func usage(_ usage: String) -> ChatStream { chunk(#""choices":[],"usage":{\#(usage)}"#) }

  func done() -> ChatStream { data("[DONE]") }

  var bytes: [UInt8] { Array(text.utf8) }

  static let opening = ChatStream().delta(#""role":"assistant","content":"","refusal":null"#).say("Hello")
  static let answer = opening.say(", world").delta("", finish: "stop")
}
