import Gateway

/// What looks after the calls in fal's queue while nobody asks.
struct FalJobs: Sendable {
  let desk: FalDesk

  var all: [Job] {
    let desk = desk
    return [
      // Each call is one node's at a time by its row, so that every node may look.
      .reporting("settle_queued_calls", every: 2, on: .everyNode, log: desk.log, metrics: desk.metrics) {
        try await Self.attend(desk)
      },
      .reporting("forget_queued_calls", every: 3_600, log: desk.log, metrics: desk.metrics) {
        let before = desk.environment.now() - QueuedCall.retention
        while try await desk.store.forget(endedBefore: before, atMost: 500) == 500 {
          try Task.checkCancellation()
        }
      },
    ]
  }

  /// A piece of those that are due. Who takes one has it for half a minute.
  private static func attend(_ desk: FalDesk) async throws {
    let now = desk.environment.now()
    let calls = try await desk.store.take(dueAt: now, again: now + 30_000, atMost: 16)
    try await withThrowingTaskGroup { group in
      for call in calls { group.addTask { try await desk.attend(to: call) } }
      try await group.waitForAll()
    }
  }
}
