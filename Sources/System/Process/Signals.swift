import Glibc

/// The signals that ask the process for something, as a queue that a task waits on.
///
/// There is one for the process: the last one made receives.
package final class Signals: @unchecked Sendable {
  /// What is asked.
  package enum Signal: Sendable, Equatable {
    /// End (SIGTERM).
    case terminate
    /// End (SIGINT: control-C).
    case interrupt
    /// Read the configuration again (SIGHUP).
    case hangUp
  }

  private let loop: EventLoop
  private let readEnd: Int32
  // The loop's own.
  private var registration: EventLoop.Registration?
  private var pending: [Signal] = []
  private var waiter: Waiter?

  /// Writing to a peer that left is an error that the call returns, not the end of the process.
  package static func ignoreBrokenPipe() { _ = signal(SIGPIPE, SIG_IGN) }

  /// Takes SIGTERM, SIGINT and SIGHUP over.
  package init(on loop: EventLoop) throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw .last("pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    self.loop = loop
    readEnd = ends[0]
    unsafe signalPipe = ends[1]
    for number in [SIGTERM, SIGINT, SIGHUP] {
      var action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = noteSignal
      action.sa_flags = Int32(SA_RESTART)
      guard unsafe sigaction(number, &action, nil) == 0 else { throw .last("sigaction") }
    }
    loop.execute { self.listen() }
  }

  /// The next signal. One task waits at a time; throws `CancellationError` when it is cancelled.
  package func next() async throws -> Signal {
    let waiter = Waiter()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        loop.perform { self.wait(waiter, continuation) }
      }
    } onCancel: {
      loop.perform { waiter.finish(.failure(CancellationError())) }
    }
  }

  private func listen() {
    registration = try? loop.register(readEnd, .readable) { _ in self.read() }
  }

  private func read() {
    var numbers = [UInt8](repeating: 0, count: 64)
    let count = unsafe Glibc.read(readEnd, &numbers, numbers.count)
    guard count > 0 else { return }
    for number in numbers[..<count] {
      switch Int32(number) {
      case SIGTERM: pending.append(.terminate)
      case SIGINT: pending.append(.interrupt)
      default: pending.append(.hangUp)
      }
    }
    if let waiter, !waiter.ended { waiter.finish(.success(pending.removeFirst())) }
  }

  private func wait(_ waiter: Waiter, _ continuation: CheckedContinuation<Signal, any Error>) {
    self.waiter = waiter
    waiter.continuation = continuation
    if waiter.ended {
      waiter.finish(.failure(CancellationError()))
    } else if !pending.isEmpty {
      waiter.finish(.success(pending.removeFirst()))
    }
  }
}

/// One wait; belongs to the loop's thread.
private final class Waiter: @unchecked Sendable {
  var continuation: CheckedContinuation<Signals.Signal, any Error>?
  /// Whether it was answered or cancelled, perhaps before it began.
  var ended = false

  func finish(_ result: Result<Signals.Signal, any Error>) {
    ended = true
    continuation?.resume(with: result)
    continuation = nil
  }
}

/// Where the handler writes. A plain global with a constant value: a signal handler may not initialize lazily.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// Runs between any two instructions: only write(2), and `errno` is put back.
private func noteSignal(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  unsafe write(signalPipe, &byte, 1)
  errno = saved
}
