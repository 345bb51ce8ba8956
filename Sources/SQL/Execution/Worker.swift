import Glibc

/// A thread of its own for calls that block.
enum Worker {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a detached thread that runs `body` and ends; false when the system gives no thread.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let box = Body(body)
    var thread = pthread_t()
    let argument = unsafe Unmanaged.passRetained(box).toOpaque()
    let code = unsafe pthread_create(&thread, nil, { unsafe Worker.main($0) }, argument)
    guard code == 0 else {
      unsafe Unmanaged<Body>.fromOpaque(argument).release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  private static func main(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument = unsafe argument {
      unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
    }
    return nil
  }
}
