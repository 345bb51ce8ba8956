import System
import Testing

@Suite("Discard", .timeLimit(.minutes(1))) struct DiscardTests {
  /// Tells where it is freed.
  private final class Row: Sendable {
    let freed: Locked<[Bool]>
    init(_ freed: Locked<[Bool]>) { self.freed = freed }
    deinit { freed.withLock { $0.append(EventLoop.current == nil) } }
  }

  @Test("what a loop discards is replaced at once, and freed on another thread") func elsewhere() async throws
  {
    let loop = try EventLoop()
    defer { loop.stop() }
    let freed = Locked<[Bool]>([])
    let left = await loop.run {
      var rows = Dictionary(uniqueKeysWithValues: (0..<1_000).map { ($0, Row(freed)) })
      Discard.later(&rows, leaving: [:])
      return rows.count
    }.value
    #expect(left == 0)
    while freed.withLock({ $0.count }) < 1_000 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(freed.withLock { !$0.contains(false) })
  }
}
