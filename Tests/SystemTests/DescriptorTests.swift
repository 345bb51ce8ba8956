import Glibc
import System
import Testing

@Suite("Descriptors", .timeLimit(.minutes(1)))
struct DescriptorTests {
  /// A connected pair of sockets that do not block.
  private static func pair() -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    #expect(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
    return (ends[0], ends[1])
  }

  private static func send(_ descriptor: Int32) { _ = unsafe write(descriptor, [1], 1) }

  private static func take(_ descriptor: Int32) -> Int {
    var buffer = [UInt8](repeating: 0, count: 16)
    return unsafe read(descriptor, &buffer, 16)
  }

  @Test("readiness follows the interest, and an absent interest is silent")
  func interest() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let (near, far) = Self.pair()
    let log = Locked<[EventLoop.Readiness]>([])
    let registration = try await loop.runThrowing {
      try loop.register(near, .readable) { readiness in
        log.withLock { $0.append(readiness) }
        _ = Self.take(near)
      }
    }.value
    Self.send(far)
    try await loop.sleep(for: .milliseconds(5))
    #expect(log.withLock { $0 } == [.readable])
    try await loop.runThrowing { try loop.modify(registration, []) }.value
    Self.send(far)
    try await loop.sleep(for: .milliseconds(5))
    #expect(log.withLock { $0.count } == 1)
    try await loop.runThrowing { try loop.modify(registration, [.peerClosed]) }.value
    shutdown(far, Int32(SHUT_WR))
    try await loop.sleep(for: .milliseconds(5))
    #expect(log.withLock { $0.contains { $0.contains(.peerClosed) } })
    await loop.run { loop.deregister(registration) }.value
    close(near)
    close(far)
  }

  @Test("an interest in changes is told once for each, though nothing is read")
  func changes() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let (near, far) = Self.pair()
    let calls = Locked(0)
    let registration = try await loop.runThrowing {
      try loop.register(near, [.readable, .changes]) { _ in calls.withLock { $0 += 1 } }
    }.value
    for expected in 1...2 {
      Self.send(far)
      for _ in 0..<3 { try await loop.sleep(for: .milliseconds(2)) }
      #expect(calls.withLock { $0 } == expected)
    }
    await loop.run { loop.deregister(registration) }.value
    close(near)
    close(far)
  }

  @Test("an event the kernel told already never reaches the next owner of the number")
  func staleEvent() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    // Both become ready in one wait; whichever comes first closes both and reuses the numbers.
    let first = Self.pair()
    let second = Self.pair()
    let calls = Locked<[String]>([])
    try await loop.runThrowing {
      var registrations: [EventLoop.Registration] = []
      let onReady: (EventLoop.Readiness) -> Void = { _ in
        calls.withLock { $0.append("old") }
        for registration in registrations { loop.deregister(registration) }
        // Closes and takes the number again in one step: other tests open descriptors meanwhile.
        let reused = [dup2(first.1, first.0), dup2(first.1, second.0)]
        #expect(reused == [first.0, second.0])
        for descriptor in reused {
          _ = try? loop.register(descriptor, .readable) { _ in calls.withLock { $0.append("stale") } }
        }
      }
      registrations.append(try loop.register(first.0, .readable, onReady))
      registrations.append(try loop.register(second.0, .readable, onReady))
      Self.send(first.1)
      Self.send(second.1)
    }.value
    // The new owners hold the other end of a closed socket, which is readable: its end. Those calls are theirs,
    // and come in a later turn; in the same turn there is one call alone.
    let inTurn = await loop.run { calls.withLock { $0.filter { $0 == "old" }.count } }.value
    try await loop.sleep(for: .milliseconds(2))
    #expect(inTurn <= 1)
    #expect(calls.withLock { $0.filter { $0 == "old" }.count } == 1)
  }

  @Test("deregistering twice, modifying afterwards and closing first are harmless")
  func carelessOrder() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let (near, far) = Self.pair()
    try await loop.runThrowing {
      let registration = try loop.register(near, .readable) { _ in }
      loop.deregister(registration)
      loop.deregister(registration)
      try loop.modify(registration, .writable)
      let again = try loop.register(near, .readable) { _ in }
      #expect(throws: SystemError.self) { _ = try loop.register(near, .readable) { _ in } }
      close(near)
      loop.deregister(again)
      #expect(throws: SystemError(call: "epoll_ctl", code: EBADF)) {
        _ = try loop.register(-1, .readable) { _ in }
      }
    }.value
    close(far)
  }
}
