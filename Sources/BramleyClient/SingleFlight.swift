/// Lets one caller do what many want at once; the others get its outcome. The work runs in the first caller's
/// task: when that one is cancelled, another of those who wait does it.
actor SingleFlight<Value: Sendable> {
  private enum Outcome: Sendable {
    case value(Value)
    case failure(any Error)
    case abandoned
  }

  private var isRunning = false
  private var waiting: [CheckedContinuation<Outcome, Never>] = []

  func run(_ work: @Sendable () async throws -> Value) async throws -> Value {
    while isRunning {
      switch await withCheckedContinuation({ waiting.append($0) }) {
      case .value(let value): return value
      case .failure(let error): throw error
      case .abandoned: try Task.checkCancellation()
      }
    }
    isRunning = true
    do {
      let value = try await work()
      finish(.value(value))
      return value
    } catch {
      finish(error is CancellationError || Task.isCancelled ? .abandoned : .failure(error))
      throw error
    }
  }

  private func finish(_ outcome: Outcome) {
    isRunning = false
    let waiting = waiting
    self.waiting = []
    for continuation in waiting { continuation.resume(returning: outcome) }
  }
}
