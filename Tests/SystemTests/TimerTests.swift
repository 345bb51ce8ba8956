import System
import Testing

@Suite("Timers", .timeLimit(.minutes(1)))
struct TimerTests {
  @Test("timers fire in the order of their deadlines, ties in the order they were set, never early")
  func order() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let fired = Locked<[(deadline: MonotonicTime, index: Int)]>([])
    var delays: [Int] = []
    var state: UInt64 = 7
    for _ in 0..<200 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      delays.append(Int(state >> 33) % 20)
    }
    await loop.run { [delays] in
      for (index, delay) in delays.enumerated() {
        var timer: EventLoop.Timer?
        timer = loop.scheduleOnLoop(after: .milliseconds(delay)) {
          guard let deadline = timer?.deadline else { return }
          #expect(deadline <= .now)
          fired.withLock { $0.append((deadline, index)) }
        }
      }
    }.value
    while fired.withLock({ $0.count }) < 200 { try await loop.sleep(for: .milliseconds(1)) }
    let order = fired.withLock { $0 }
    #expect(order.map(\.deadline) == order.map(\.deadline).sorted())
    for (earlier, later) in zip(order, order.dropFirst()) where earlier.deadline == later.deadline {
      #expect(earlier.index < later.index)
    }
  }

  @Test("cancelled timers do not fire, moved ones fire once at their new time")
  func cancelAndReschedule() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let fired = Locked<[String]>([])
    await loop.run {
      let timers = (0..<50).map { index in
        loop.scheduleOnLoop(after: .milliseconds(index % 7)) { fired.withLock { $0.append("late") } }
      }
      for timer in timers.reversed() { timer.cancel() }
      timers[3].reschedule(after: .zero)
      let moved = loop.scheduleOnLoop(after: .seconds(60)) { fired.withLock { $0.append("moved") } }
      moved.reschedule(after: .milliseconds(2))
      let pushed = loop.scheduleOnLoop(after: .zero) { fired.withLock { $0.append("pushed") } }
      pushed.reschedule(after: .seconds(60))
      #expect(pushed.isPending)
      #expect(!timers[3].isPending)
    }.value
    let fromOutside = loop.schedule(after: .milliseconds(1)) { fired.withLock { $0.append("outside") } }
    let withdrawn = loop.schedule(after: .milliseconds(5)) { fired.withLock { $0.append("withdrawn") } }
    withdrawn.cancel()
    try await loop.sleep(for: .milliseconds(20))
    fromOutside.cancel()
    #expect(fired.withLock { $0.sorted() } == ["moved", "outside"])
  }

  @Test("a timer may cancel another that is due in the same turn")
  func cancelInFire() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let fired = Locked(0)
    await loop.run {
      var second: EventLoop.Timer?
      loop.scheduleOnLoop(after: .zero) {
        fired.withLock { $0 += 1 }
        second?.cancel()
      }
      second = loop.scheduleOnLoop(after: .zero) { fired.withLock { $0 += 100 } }
    }.value
    try await loop.sleep(for: .milliseconds(3))
    #expect(fired.withLock { $0 } == 1)
  }

  @Test("a sleep is cut short when its task is cancelled, before it began as well")
  func cancelledSleep() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let began = MonotonicTime.now
    for early in [true, false] {
      await withTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
          await #expect(throws: CancellationError.self) { try await loop.sleep(for: .seconds(50)) }
        }
        if !early { try? await loop.sleep(for: .milliseconds(5)) }
        tasks.cancelAll()
      }
    }
    // Far from the 50 seconds, and from what a crowded machine takes.
    #expect(.now - began < .seconds(25))
  }

  @Test("hundreds of sleeps raced against cancellation each end once")
  func sleepRace() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    for _ in 0..<10 {
      await withTaskGroup(of: Void.self) { tasks in
        for index in 0..<50 {
          tasks.addTask { try? await loop.sleep(for: .microseconds(index * 40)) }
        }
        try? await loop.sleep(for: .milliseconds(1))
        tasks.cancelAll()
      }
    }
  }

  @Test("durations that cannot be are clamped")
  func clamped() {
    #expect(Duration.seconds(-3).clampedNanoseconds == 0)
    #expect(Duration.seconds(Int64.max).clampedNanoseconds > 0)
    #expect(MonotonicTime(nanoseconds: .max) + .seconds(1) == MonotonicTime(nanoseconds: .max))
    #expect(Duration.milliseconds(1500).clampedNanoseconds == 1_500_000_000)
  }
}
