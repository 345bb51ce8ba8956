import BramleyAPI
import Encodings
public import HTTPMessages

/// An answer of Anthropic's Messages API as it is streamed. It is read once; whoever stops reading ends it.
public struct MessageStream: AsyncSequence, Sendable {
  /// What happens in an answer.
  public enum Event: Sendable, Equatable {
    /// The next piece of visible text.
    case text(String)
    /// Tokens so far; the last figures are the final ones.
    case usage(inputTokens: Int64, outputTokens: Int64)
    /// Why the answer ended, such as `end_turn` and `max_tokens`.
    case stopped(reason: String)
  }

  /// The answer's header fields, `RateLimit` among them.
  public let fields: HTTPFields
  private let body: HTTPBody

  init(_ response: HTTPResponse) {
    fields = response.fields
    body = response.body
  }

  /// Begins to read. Errors: ``BramleyError`` with the provider's error as its message, or
  /// `client_incomplete_answer` when the end does not come.
  public func makeAsyncIterator() -> Iterator { Iterator(body) }

  /// The whole text.
  public func text() async throws -> String {
    var whole = ""
    for try await event in self { if case .text(let piece) = event { whole += piece } }
    return whole
  }

  /// Reads event by event.
  public struct Iterator: AsyncIteratorProtocol {
    private var source: HTTPBody.Content
    private var reader = ServerSentEventReader()
    private var pending: ArraySlice<ServerSentEvent> = []
    private var inputTokens: Int64 = 0
    private var outputTokens: Int64 = 0
    private var ready: ArraySlice<Event> = []
    private var isOver = false

    init(_ body: HTTPBody) { source = body.content }

    /// The next event; nil after the last.
    public mutating func next() async throws -> Event? {
      while true {
        if let event = ready.popFirst() { return event }
        if isOver { return nil }
        if let event = pending.popFirst() {
          try read(event)
          continue
        }
        guard let chunk = try await chunk() else {
          isOver = true
          throw BramleyError(.incompleteAnswer)
        }
        pending = reader.read(chunk)[...]
      }
    }

    private mutating func chunk() async throws -> [UInt8]? {
      switch source {
      case .stream(let stream, _): return try await stream.next()
      case .bytes(let bytes):
        source = .bytes([])
        return bytes.isEmpty ? nil : bytes
      }
    }

    private mutating func read(_ event: ServerSentEvent) throws {
      guard let data = try? JSONReader.read(Array(event.data.utf8)) else { return }
      switch data["type"]?.string {
      case "message_start": count(data["message"]?["usage"])
      case "content_block_delta":
        if let text = data["delta"]?["text"]?.string { ready.append(.text(text)) }
      case "message_delta":
        count(data["usage"])
        if let reason = data["delta"]?["stop_reason"]?.string { ready.append(.stopped(reason: reason)) }
      case "message_stop": isOver = true
      case "error":
        isOver = true
        let answer = ErrorAnswer(body: Array(event.data.utf8))
        throw BramleyError(answer.code ?? .incompleteAnswer, message: answer.message)
      default: break  // pings, and what is yet to be invented
      }
    }

    /// Figures are cumulative: the greater one holds, and none is ever added up.
    private mutating func count(_ usage: JSONNode?) {
      guard let usage else { return }
      let kinds = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
      let input = kinds.reduce(Int64(0)) { sum, kind in
        let value = Swift.min(Swift.max(usage[kind]?.integer ?? 0, 0), 1 << 40)
        return sum + value
      }
      inputTokens = Swift.max(inputTokens, input)
      outputTokens = Swift.max(outputTokens, usage["output_tokens"]?.integer ?? 0)
      ready.append(.usage(inputTokens: inputTokens, outputTokens: outputTokens))
    }
  }
}
