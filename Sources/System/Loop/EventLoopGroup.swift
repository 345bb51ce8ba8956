import Glibc
import Synchronization

/// Some loops, dealt out in turn.
package final class EventLoopGroup: Sendable {
  /// The loops.
  package let loops: [EventLoop]
  private let counter = Atomic<Int>(0)

  /// That many loops; at least one.
  package init(loops count: Int) throws(SystemError) {
    var loops: [EventLoop] = []
    do throws(SystemError) {
      for _ in 0..<max(1, count) { loops.append(try EventLoop()) }
    } catch {
      for loop in loops { loop.stop() }
      throw error
    }
    self.loops = loops
  }

  /// How many processors this process may use.
  package static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// The next loop in turn.
  package func next() -> EventLoop {
    let (_, new) = counter.wrappingAdd(1, ordering: .relaxed)
    return loops[Int(UInt(bitPattern: new) % UInt(loops.count))]
  }

  /// The loop that runs this code if it is one of the group, else the next in turn.
  package func currentOrNext() -> EventLoop {
    if let current = EventLoop.current, loops.contains(where: { $0 === current }) { return current }
    return next()
  }

  /// Ends every loop; see ``EventLoop/stop()``.
  package func stop() {
    for loop in loops { loop.stop() }
  }
}
