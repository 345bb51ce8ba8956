import System
import Testing

@Suite("BackgroundTasks", .timeLimit(.minutes(1)))
struct BackgroundTasksTests {
  @Test("work goes on when the task that started it is cancelled")
  func survives() async throws {
    let group = try EventLoopGroup(loops: 2)
    defer { group.stop() }
    let background = BackgroundTasks(on: group)
    let settled = Locked(false)
    let starter = group.next().run {
      background.start {
        try? await group.next().sleep(for: .milliseconds(10))
        settled.withLock { $0 = !Task.isCancelled }
      }
      try? await group.next().sleep(for: .seconds(30))
    }
    try await group.next().sleep(for: .milliseconds(2))
    starter.cancel()
    await starter.value
    #expect(await background.drain(within: .seconds(5)))
    #expect(settled.withLock { $0 })
    #expect(background.count == 0)
  }

  @Test("draining gives up at its limit, cancels what is left, and may be called again")
  func limit() async throws {
    let group = try EventLoopGroup(loops: 1)
    defer { group.stop() }
    let background = BackgroundTasks(on: group)
    let cancelled = Locked(false)
    background.start {
      do { try await group.next().sleep(for: .seconds(60)) } catch { cancelled.withLock { $0 = true } }
    }
    #expect(await !background.drain(within: .milliseconds(10)))
    #expect(await background.drain(within: .seconds(5)))
    #expect(cancelled.withLock { $0 })
  }

  @Test("periodic work repeats, ends its round when the server stops, and does not begin another")
  func periodic() async throws {
    let group = try EventLoopGroup(loops: 2)
    defer { group.stop() }
    let background = BackgroundTasks(on: group)
    let rounds = Locked((begun: 0, whole: 0))
    background.every(.milliseconds(1)) {
      rounds.withLock { $0.begun += 1 }
      if (try? await group.next().sleep(for: .milliseconds(2))) != nil { rounds.withLock { $0.whole += 1 } }
    }
    while rounds.withLock({ $0.whole }) < 3 { try await group.next().sleep(for: .milliseconds(1)) }
    #expect(await background.drain(within: .seconds(5)))
    let after = rounds.withLock { $0 }
    #expect(after.begun == after.whole)
    background.every(.zero) { rounds.withLock { $0.begun += 100 } }
    try await group.next().sleep(for: .milliseconds(10))
    #expect(rounds.withLock { $0.begun } == after.begun)
  }

  @Test("a thousand short pieces of work from many tasks are all counted down")
  func many() async throws {
    let group = try EventLoopGroup(loops: 2)
    defer { group.stop() }
    let background = BackgroundTasks(on: group)
    let done = Locked(0)
    await withTaskGroup(of: Void.self) { tasks in
      for _ in 0..<20 {
        tasks.addTask { for _ in 0..<50 { background.start { done.withLock { $0 += 1 } } } }
      }
    }
    #expect(await background.drain(within: .seconds(20)))
    #expect(done.withLock { $0 } == 1_000)
  }
}
