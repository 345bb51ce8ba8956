import HTTPMessages
import System

/// The content of a request while it comes: pulled by the handler, from whatever thread, read on the loop.
final class RequestContent: HTTPBodyStream, @unchecked Sendable {
  let connection: Connection
  /// The peer sends nothing before it is told to go on.
  var awaitsContinue: Bool
  /// The octets announced; nil for chunks.
  let length: Int?
  /// The last octet was taken.
  private(set) var isComplete = false
  /// What was wrong with the framing.
  private(set) var refusal: HTTPRefusal?
  private(set) var received = 0

  private var isDetached = false
  private var isCancelled = false
  /// Octets were thrown away: whoever comes late must not take what is left for all.
  private var isDrained = false
  /// How much longer may be waited: time that the octets which came have earned, and what is left of the grace.
  private var patience: Duration
  /// Small pieces are joined up to this many octets.
  private static let pieceSize = 16_384

  init(_ connection: Connection, length: Int?, awaitsContinue: Bool) {
    self.connection = connection
    self.length = length
    self.awaitsContinue = awaitsContinue
    patience = connection.configuration.bodyTimeout
  }

  /// The next piece, from the loop even if it is asked for elsewhere.
  @concurrent func next() async throws -> [UInt8]? {
    let loop = connection.server.loop
    if loop.isCurrent { return try await pull(draining: false) }
    return try await withTaskExecutorPreference(loop) { try await self.pull(draining: false) }
  }

  func cancel() {
    connection.server.loop.perform {
      self.isCancelled = true
      if !self.isDetached { self.connection.wakeReader(.cancelled) }
    }
  }

  /// The request is answered: the octets that follow are none of this content's.
  func detach() { isDetached = true }

  /// As ``next()``, on the loop; also content that was cancelled, for whoever drains it.
  func pull(draining: Bool) async throws -> [UInt8]? {
    if isDrained, !draining { throw HTTPBodyError.incomplete }
    if isComplete { return nil }
    if draining { isDrained = true }
    if awaitsContinue {
      awaitsContinue = false
      if !connection.isAnswering, connection.input.isEmpty {
        guard await connection.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) else {
          throw HTTPBodyError.incomplete
        }
      }
    }
    while true {
      if isCancelled, !draining { throw CancellationError() }
      if isDetached || refusal != nil { throw HTTPBodyError.incomplete }
      if let piece = try takePiece() { return piece }
      if isComplete { return nil }
      try await wait()
    }
  }

  private func takePiece() throws -> [UInt8]? {
    var piece: [UInt8] = []
    while piece.count < Self.pieceSize, let event = connection.parser.next(&connection.input) {
      switch event {
      case .content(let octets):
        received += octets.count
        earn(octets.count)
        if piece.isEmpty { piece = octets } else { piece.append(contentsOf: octets) }
        continue
      case .end: isComplete = true
      case .refused(let refusal):
        self.refusal = refusal
        throw HTTPBodyError.incomplete
      case .head: throw HTTPBodyError.incomplete
      }
      break
    }
    return piece.isEmpty ? nil : piece
  }

  /// Only so much time can be saved up: who sends a lot and then stops must not have it kept for long.
  private func earn(_ octets: Int) {
    let configuration = connection.configuration
    patience = min(
      patience + Duration.seconds(octets) / max(1, configuration.bodyRate), configuration.bodyTimeout * 3)
  }

  private func wait() async throws {
    let start = MonotonicTime.now
    let wake = await connection.fillUnlessCancelled(until: start + patience)
    patience -= MonotonicTime.now - start
    switch wake {
    case .ready: break
    case .timedOut: throw HTTPBodyError.timedOut
    case .left, .busy: throw HTTPBodyError.incomplete
    case .cancelled: try Task.checkCancellation()
    }
  }
}
