import BramleyAPI
import Encodings
public import HTTPMessages

/// A function's answer as it comes. It is read once; whoever stops reading ends it.
public struct FunctionStream: AsyncSequence, Sendable {
  /// What happens in an answer.
  public enum Event: Sendable {
    /// The next piece of text; of a function whose output is JSON, of what spells it.
    case text(String)
    /// The whole answer: the last event.
    case done(FunctionAnswer)
  }

  /// The answer's header fields, `RateLimit` among them.
  public let fields: HTTPFields
  private let body: HTTPBody
  private let isStreamed: Bool

  init(_ response: HTTPResponse) {
    fields = response.fields
    body = response.body
    isStreamed = response.fields["content-type"]?.hasPrefix("text/event-stream") == true
  }

  /// Begins to read. Errors: ``BramleyError`` with the server's code, or `client_incomplete_answer` when the end
  /// does not come.
  public func makeAsyncIterator() -> Iterator { Iterator(body, isStreamed: isStreamed) }

  /// The whole answer.
  public func answer() async throws -> FunctionAnswer {
    for try await event in self { if case .done(let answer) = event { return answer } }
    throw BramleyError(.incompleteAnswer)
  }

  /// Reads event by event.
  public struct Iterator: AsyncIteratorProtocol {
    /// As much as a function's answer can be, octets.
    private static let limit = 32 << 20

    private let body: HTTPBody
    private let isStreamed: Bool
    private var isRead = false
    private var reader = ServerSentEventReader(limit: Iterator.limit)
    private var pending: ArraySlice<ServerSentEvent> = []
    private var isOver = false

    init(_ body: HTTPBody, isStreamed: Bool) {
      self.body = body
      self.isStreamed = isStreamed
    }

    /// The next event; nil after the last.
    public mutating func next() async throws -> Event? {
      if isOver { return nil }
      guard isStreamed else {
        isOver = true
        guard let answer = FunctionAnswer(try? JSONReader.read(try await body.collect(upTo: Self.limit)))
        else { throw BramleyError(.incompleteAnswer) }
        return .done(answer)
      }
      while true {
        while let event = pending.popFirst() {
          if let event = try read(event) { return event }
        }
        guard let chunk = try await chunk() else {
          isOver = true
          throw BramleyError(.incompleteAnswer)
        }
        pending = reader.read(chunk)[...]
      }
    }

    private mutating func chunk() async throws -> [UInt8]? {
      switch body.content {
      case .stream(let stream, _): return try await stream.next()
      case .bytes(let bytes):
        if isRead { return nil }
        isRead = true
        return bytes
      }
    }

    private mutating func read(_ event: ServerSentEvent) throws -> Event? {
      let data = try? JSONReader.read(Array(event.data.utf8))
      switch event.event {
      case "text": return data?["text"]?.string.map { .text($0) }
      case "done":
        isOver = true
        guard let answer = FunctionAnswer(data) else { throw BramleyError(.incompleteAnswer) }
        return .done(answer)
      case "error":
        isOver = true
        let answer = ErrorAnswer(body: Array(event.data.utf8))
        throw BramleyError(answer.code ?? .incompleteAnswer, message: answer.message)
      default: return nil  // what is yet to be invented
      }
    }
  }
}
