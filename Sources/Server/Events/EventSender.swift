import Accounts
import Encodings
import HTTPMessages

/// Sends events to one endpoint. A slow one keeps nobody else waiting: each has a sender and a job of its own.
struct EventSender: Sendable {
  /// How many are under way at once.
  static let width: Int64 = 8
  /// Milliseconds that a claim lasts: longer than an attempt can take.
  private static let lease: Int64 = 60_000
  /// What of an answer is read, so that its connection may serve again.
  private static let answerLimit = 64 * 1024

  let target: WebhookTarget
  let outbox: any EventOutbox
  private let environment: Environment
  private let network: OutsideClient
  private let metrics: Metrics
  private let log: ApplicationLog

  init(
    _ target: WebhookTarget, outbox: any EventOutbox, environment: Environment, metrics: Metrics,
    log: ApplicationLog
  ) {
    self.target = target
    self.outbox = outbox
    self.environment = environment
    self.metrics = metrics
    self.log = log
    network = OutsideClient(
      environment.outside.webhooks,
      OutsidePolicy(
        hosts: [target.host], maximumSize: .max,
        allowsLoopback: environment.configuration.deployment == .development))
  }

  /// Sends what is due, until nothing is, or until nothing of a handful was taken: whoever is down is not asked for
  /// all that waits.
  func sendDue() async throws {
    for _ in 0..<100 {
      try Task.checkCancellation()
      let due = try await outbox.claim(
        target.url, limit: Self.width, lease: Self.lease, now: environment.now())
      let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
        for delivery in due { group.addTask { try await attempt(delivery) } }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      if due.count < Self.width || taken == 0 { return }
    }
  }

  /// What came of an attempt.
  private enum Outcome {
    case taken(String)
    /// 410: it wants no more.
    case gone
    case refused(String, retryAfter: Int64?)
  }

  /// Whether the endpoint took it.
  private func attempt(_ delivery: EventDelivery) async throws -> Bool {
    let outcome = await send(delivery)
    let now = environment.now()
    switch outcome {
    case .taken(let words):
      try await outbox.delivered(delivery, outcome: words, now: now)
      metrics.events["delivered"].add()
      return true
    case .gone:
      try await outbox.close(target.url, now: now)
      metrics.events["dead"].add()
      alarm("event_endpoint_closed", delivery, "HTTP 410")
    case .refused(let words, let asked):
      let random = environment.random(1).first ?? 0
      let delay = EventBackoff.delay(after: delivery.attempt, asked: asked, random: random)
      guard try await outbox.failed(delivery, outcome: words, delay: delay, now: now) else { break }
      metrics.events[delay == nil ? "dead" : "failed"].add()
      if delay == nil { alarm("event_dead", delivery, words) }
    }
    return false
  }

  private func alarm(_ event: String, _ delivery: EventDelivery, _ words: String) {
    metrics.alarms[Metrics.Alarm.events].add()
    log.error(
      event,
      [
        ("host", .string(target.host)), ("id", .string(delivery.id)), ("type", .string(delivery.type)),
        ("outcome", .string(words)),
      ])
  }

  private func send(_ delivery: EventDelivery) async -> Outcome {
    let request = target.request(id: delivery.id, time: environment.now() / 1_000, body: delivery.body)
    do {
      let response = try await network.respond(to: request)
      let words = "HTTP \(response.status)"
      _ = try? await response.body.collect(upTo: Self.answerLimit)
      if 200..<300 ~= response.status { return .taken(words) }
      if response.status == 410 { return .gone }
      return .refused(words, retryAfter: Self.retryAfter(response.fields["retry-after"]))
    } catch {
      return .refused(OutsideFailure.words(error), retryAfter: nil)
    }
  }

  /// Milliseconds; the form with a date is not looked at.
  private static func retryAfter(_ text: String?) -> Int64? {
    guard let text, text.utf8.count <= 9, let seconds = Int64(text), seconds >= 0 else { return nil }
    return seconds * 1_000
  }
}
