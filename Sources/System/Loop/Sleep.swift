extension EventLoop {
  /// Waits on the loop's timer; callable from any task. Throws `CancellationError` as soon as the task is
  /// cancelled.
  package func sleep(for duration: Duration) async throws {
    let sleep = Sleep()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        perform { sleep.start(on: self, for: duration, continuation) }
      }
    } onCancel: {
      perform { sleep.end(with: CancellationError()) }
    }
  }
}

/// One sleep; belongs to the loop's thread.
private final class Sleep: @unchecked Sendable {
  private var continuation: CheckedContinuation<Void, any Error>?
  private var timer: EventLoop.Timer?
  private var cancelled = false

  func start(on loop: EventLoop, for duration: Duration, _ continuation: CheckedContinuation<Void, any Error>)
  {
    if cancelled { return continuation.resume(throwing: CancellationError()) }
    self.continuation = continuation
    timer = loop.scheduleOnLoop(after: duration) { self.end(with: nil) }
  }

  func end(with error: (any Error)?) {
    cancelled = true
    timer?.cancel()
    timer = nil
    guard let continuation else { return }
    self.continuation = nil
    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
  }
}
