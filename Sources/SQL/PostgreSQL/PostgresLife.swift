import System

/// Counts what works on a database's event loops, so that loops of its own end with the last.
final class PostgresLife: Sendable {
  private let loops: EventLoopGroup
  private let parts = Locked(0)
  private let isOwner: Bool

  /// - Parameter isOwner: whether the loops are the database's alone.
  init(_ loops: EventLoopGroup, isOwner: Bool) {
    self.loops = loops
    self.isOwner = isOwner
  }

  func begin() { parts.withLock { $0 += 1 } }

  /// Called once for each that began.
  func end() {
    let isLast = parts.withLock { parts in
      parts -= 1
      return parts == 0
    }
    guard isLast, isOwner else { return }
    // A loop cannot wait for its own end; where nobody else can, it ends unwaited for.
    if !Worker.start({ [loops] in loops.stop() }) { loops.stop() }
  }
}
