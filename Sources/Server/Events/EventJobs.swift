import Accounts
import Encodings

/// What brings events to their endpoints and keeps their table short.
struct EventJobs: Sendable {
  let environment: Environment
  let outbox: any EventOutbox
  let metrics: Metrics
  let log: ApplicationLog

  private var endpoints: [Configuration.EventEndpoint] { environment.configuration.eventEndpoints }

  /// Says in the database who takes what. Before anything happens that is to be told.
  func subscribe() async throws {
    try await outbox.subscribe(endpoints.map { EventSubscription(url: $0.target.url, kinds: $0.kinds) })
  }

  /// Each node sends: what one claims, no other does.
  var all: [Job] {
    endpoints.map { endpoint in
      let sender = EventSender(
        endpoint.target, outbox: outbox, environment: environment, metrics: metrics, log: log)
      return .reporting("send_events", every: 1, on: .everyNode, log: log, metrics: metrics) {
        try await sender.sendDue()
      }
    } + [
      .reporting("forget_events", every: 3_600, log: log, metrics: metrics) { try await forget() }
    ]
  }

  private func forget() async throws {
    let now = environment.now()
    let (piece, age) = (500, environment.configuration.eventRetentionDays * 86_400_000)
    for _ in 0..<200 {
      try Task.checkCancellation()
      let count = try await outbox.tidy(endedBefore: now - age, limit: Int64(piece), now: now)
      if count < piece { return }
    }
  }
}
