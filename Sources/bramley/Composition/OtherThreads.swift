import Server

/// Long computations go to the global executor, whose threads serve no requests.
struct OtherThreads: Offload {
  func callAsFunction<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withTaskExecutorPreference(globalConcurrentExecutor) { work() }
  }
}
