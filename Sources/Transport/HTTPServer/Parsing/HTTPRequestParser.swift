/// Reads requests out of octets that come in pieces cut anywhere: octets in, events out, nothing else.
///
/// It is strict (RFC 9112): whatever two readers could take for two different requests is refused. The same
/// octets give the same events however they are cut, except for where pieces of content end.
package struct HTTPRequestParser: Sendable {
  /// What the octets said.
  package enum Event: Equatable, Sendable {
    /// A head. Content and ``end`` follow.
    case head(HTTPRequestHead)
    /// A piece of content, never empty.
    case content([UInt8])
    /// The request is complete; another head may follow.
    case end
    /// These octets are no request. Nothing follows.
    case refused(HTTPRefusal)
  }

  private enum State {
    case head, content(remaining: Int), chunked(ChunkedDecoder), refused
  }

  private var head: RequestHeadParser
  private var state = State.head
  /// The most octets of one ``Event/content(_:)``.
  private static let pieceLimit = 65_536

  /// A parser at the beginning of a connection.
  package init(headLimit: Int = 16_384, fieldLimit: Int = 100) {
    head = RequestHeadParser(limit: headLimit, fieldLimit: fieldLimit)
  }

  /// The next event; the octets it was made of are taken out of the queue. Nil while some are missing.
  package mutating func next(_ input: inout ByteQueue) -> Event? {
    do throws(HTTPRefusal) {
      switch state {
      case .head:
        guard let head = try head.read(&input) else { return nil }
        switch head.framing {
        case .none: state = .content(remaining: 0)
        case .length(let length): state = .content(remaining: length)
        case .chunked: state = .chunked(ChunkedDecoder())
        }
        return .head(head)
      case .content(remaining: 0):
        state = .head
        return .end
      case .content(let remaining):
        guard !input.isEmpty else { return nil }
        let piece = input.take(min(remaining, Self.pieceLimit))
        state = .content(remaining: remaining - piece.count)
        return .content(piece)
      case .chunked(var decoder):
        let piece = try decoder.read(&input, limit: Self.pieceLimit)
        state = decoder.isDone ? .head : .chunked(decoder)
        if let piece { return .content(piece) }
        return decoder.isDone ? .end : nil
      case .refused: return nil
      }
    } catch {
      state = .refused
      return .refused(error)
    }
  }

  /// All the content at once and the end with it, if its length was announced and all of it is here.
  package mutating func takeAnnouncedContent(_ input: inout ByteQueue) -> [UInt8]? {
    guard case .content(let remaining) = state, remaining <= input.count else { return nil }
    state = .head
    return remaining == 0 ? [] : input.take(remaining)
  }

  /// The events of these octets when they come cut at these places: the entry point for fuzzing.
  ///
  /// Pieces of content that follow each other are joined.
  package static func events(of bytes: [UInt8], cutAt cuts: [Int] = []) -> [Event] {
    var parser = HTTPRequestParser()
    var input = ByteQueue()
    var events: [Event] = []
    var start = 0
    for cut in cuts.map({ min(max(0, $0), bytes.count) }).sorted() + [bytes.count] {
      input.append(bytes[start..<cut])
      start = cut
      while let event = parser.next(&input) {
        if case .content(let more) = event, case .content(let before) = events.last {
          events[events.count - 1] = .content(before + more)
        } else {
          events.append(event)
        }
      }
    }
    return events
  }
}
