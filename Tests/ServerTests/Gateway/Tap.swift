import HTTPMessages
import Synchronization
import Testing

/// A provider whose answer a test lets go piece by piece.
final class Tap: HTTPBodyStream {
  private let state = Mutex<(pieces: [[UInt8]], isOver: Bool, isCancelled: Bool)>(([], false, false))

  func give(_ text: String) { state.withLock { $0.pieces.append(Array(text.utf8)) } }
  func end() { state.withLock { $0.isOver = true } }
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func next() async throws -> [UInt8]? {
    while true {
      try Task.checkCancellation()
      let piece: [UInt8]?? = try state.withLock { state in
        if state.isCancelled { throw HTTPClientError.interrupted }
        if !state.pieces.isEmpty { return state.pieces.removeFirst() }
        return state.isOver ? .some(nil) : nil
      }
      if let piece { return piece }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  func cancel() { state.withLock { $0.isCancelled = true } }
}

extension HTTPResponse {
  /// Reads the first piece of the stream, and is gone.
  func leaveAfterFirstPiece() async throws {
    guard case .stream(let stream, _) = body.content else {
      Issue.record("the answer is no stream")
      return
    }
    _ = try await stream.next()
    stream.cancel()
  }
}
