package import System

/// How a loop's work is divided, by the processor's time: what else the machine does meanwhile is no part of it.
package struct LoopPieces: Sendable {
  /// The longest time for which others had no turn.
  package private(set) var longest = Duration.zero
  /// All that is more than turning in vain.
  package private(set) var all = Duration.zero

  /// Watches the loop for as long as the work takes.
  package static func of(_ loop: EventLoop, _ work: () async throws -> Void) async rethrows -> LoopPieces {
    let pieces = Locked(LoopPieces())
    let turning = loop.run {
      var last = ThreadTime.nanoseconds
      while !Task.isCancelled {
        await loop.turn()
        let now = ThreadTime.nanoseconds
        let piece = Duration.nanoseconds(now - last)
        pieces.withLock {
          $0.longest = max($0.longest, piece)
          if piece > .microseconds(100) { $0.all += piece }
        }
        last = now
      }
    }
    defer { turning.cancel() }
    try await work()
    return pieces.withLock { $0 }
  }
}
