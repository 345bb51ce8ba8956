import System

/// The end of the turn of the event loop that the caller runs on.
enum EndOfTurn {
  /// Has `work` run then; false when the caller is on no loop.
  static func run(_ work: @escaping @Sendable () -> Void) -> Bool {
    guard let loop = EventLoop.current else { return false }
    loop.atEndOfTurn(work)
    return true
  }
}
