import Glibc
import System
import Testing

@Suite("EventLoop", .timeLimit(.minutes(1)))
struct EventLoopTests {
  @Test("a task stays on its loop through actors, groups, async let and sleeps")
  func staysOnLoop() async throws {
    let group = try EventLoopGroup(loops: 2)
    defer { group.stop() }
    actor Counter {
      var places: [Bool] = []
      func note(_ loop: EventLoop) { places.append(loop.isCurrent) }
    }
    let loop = group.loops[0]
    let counter = Counter()
    await loop.run {
      await counter.note(loop)
      try? await loop.sleep(for: .milliseconds(1))
      await counter.note(loop)
      async let child: Void = counter.note(loop)
      await child
      await withTaskGroup(of: Void.self) { tasks in
        for _ in 0..<4 { tasks.addTask { await counter.note(loop) } }
      }
      await counter.note(EventLoop.current ?? group.loops[1])
    }.value
    #expect(await counter.places == Array(repeating: true, count: 8))
    #expect(EventLoop.current == nil)
  }

  @Test("closures from many threads all run, in the order of each sender, on the loop")
  func executeFromManyThreads() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let seen = Locked<[[Int]]>(Array(repeating: [], count: 8))
    await withTaskGroup(of: Void.self) { tasks in
      for sender in 0..<8 {
        tasks.addTask {
          for number in 0..<500 {
            loop.execute { seen.withLock { $0[sender].append(loop.isCurrent ? number : -1) } }
          }
        }
      }
    }
    await loop.run {}.value
    #expect(seen.withLock { $0 } == Array(repeating: Array(0..<500), count: 8))
  }

  @Test("what a turn gathers is handed on once, after every task of the turn")
  func endOfTurn() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let log = Locked<[String]>([])
    await loop.run {
      loop.atEndOfTurn { log.withLock { $0.append("end") } }
      for _ in 0..<3 { loop.execute { log.withLock { $0.append("work") } } }
      for _ in 0..<10 { await Task.yield() }
      log.withLock { $0.append("task") }
      loop.atEndOfTurn { loop.atEndOfTurn { log.withLock { $0.append("again") } } }
    }.value
    try await loop.sleep(for: .milliseconds(5))
    #expect(log.withLock { $0 } == ["work", "work", "work", "task", "end", "again"])
  }

  @Test("more work than a turn takes loses nothing and lets timers through")
  func manyJobs() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let count = Locked(0)
    let whenFired = Locked(-1)
    await loop.run {
      loop.scheduleOnLoop(after: .zero) { whenFired.withLock { $0 = count.withLock { $0 } } }
      for _ in 0..<20_000 { loop.execute { count.withLock { $0 += 1 } } }
    }.value
    while count.withLock({ $0 }) < 20_000 { await Task.yield() }
    let fired = whenFired.withLock { $0 }
    #expect(fired > 0 && fired < 20_000)
  }

  @Test("between the turns of long work timers fire and other tasks go on")
  func turns() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let (hasFired, others) = (Locked(false), Locked(0))
    loop.schedule(after: .milliseconds(5)) { hasFired.withLock { $0 = true } }
    let other = loop.run { for _ in 0..<10 { others.withLock { $0 += 1 }; await loop.turn() } }
    // Without end where a turn lets nobody else in: the time limit tells.
    let turns = await loop.run {
      var turns = 0
      while !hasFired.withLock({ $0 }) || others.withLock({ $0 }) < 10 {
        await loop.turn()
        #expect(loop.isCurrent)
        turns += 1
      }
      return turns
    }.value
    #expect(turns > 0)
    await other.value
  }

  @Test("a loop stops with work still coming, and stopping twice is harmless")
  func stops() async throws {
    for _ in 0..<20 {
      let loop = try EventLoop()
      for _ in 0..<10 { loop.execute {} }
      loop.stop()
      loop.stop()
      loop.execute {}
    }
  }

  @Test("a stopped loop goes away")
  func noLeak() async throws {
    weak var gone: EventLoop?
    do {
      let loop = try EventLoop()
      gone = loop
      loop.stop()
    }
    #expect(gone == nil)
  }

  @Test("the group deals its loops out in turn and keeps to the caller's")
  func group() async throws {
    let group = try EventLoopGroup(loops: 3)
    defer { group.stop() }
    let dealt = (0..<6).map { _ in ObjectIdentifier(group.next()) }
    #expect(Set(dealt).count == 3)
    #expect(Array(dealt[..<3]) == Array(dealt[3...]))
    let loop = group.loops[1]
    await loop.run { #expect(group.currentOrNext() === loop) }.value
  }
}
