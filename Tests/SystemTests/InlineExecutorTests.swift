import Glibc
import System
import Testing

@Suite("Closures that are run in place") struct InlineExecutorTests {
  private struct Odd: Error {}

  private static func half(_ number: Int) async throws(Odd) -> Int {
    if number % 2 != 0 { throw Odd() }
    return number / 2
  }

  @Test(
    "A closure that waits for nothing has ended when the call returns, on the caller's thread, again and again"
  )
  func inPlace() {
    let executor = InlineExecutor()
    for round in 0..<100 {
      let caller = CurrentThread.number
      let seen = Locked<[Int]>([])
      executor.run {
        for number in [8, 7, 6] {
          let result = (try? await Self.half(number)) ?? -1
          #expect(CurrentThread.number == caller)
          seen.withLock { $0.append(result) }
        }
        seen.withLock { $0.append(round) }
      }
      #expect(seen.withLock { $0 } == [4, -1, 3, round])
    }
  }

  @Test("On a thread of an event loop it is run there, and the loop's tasks are what they were")
  func onLoop() async throws {
    let loop = try EventLoop()
    defer { loop.stop() }
    let isInside = await loop.run {
      let isInside = Locked(false)
      InlineExecutor().run { isInside.withLock { $0 = loop.isCurrent } }
      await Task.yield()
      return isInside.withLock { $0 } && loop.isCurrent
    }.value
    #expect(isInside)
  }

  #if DEBUG
    @Test("A debug build ends where such a closure waits for something")
    func waiting() async {
      await #expect(processExitsWith: .failure) {
        InlineExecutor().run { try? await Task.sleep(for: .milliseconds(50)) }
      }
    }
  #else
    @Test("A closure that waits for something all the same is waited for")
    func waiting() {
      let isOver = Locked(false)
      InlineExecutor().run {
        try? await Task.sleep(for: .milliseconds(50))
        isOver.withLock { $0 = true }
      }
      #expect(isOver.withLock { $0 })
    }
  #endif
}

/// Which thread this is.
private enum CurrentThread {
  static var number: UInt { UInt(pthread_self()) }
}
