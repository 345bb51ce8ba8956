import Accounts
import Encodings
import SignInWithApple

/// What Apple tells of its users: verified, kept, and answered at once; applied after that.
struct AppleNotifications: Sendable {
  /// Events that nothing came of are tried again after so long, milliseconds.
  static let retryAfter: Int64 = 120_000
  /// Applied events are kept so long, milliseconds: notifications are accepted until 30 days after they expired
  /// (RULES §2.3), and none is to be new again by then.
  static let retention: Int64 = 90 * 86_400_000

  let service: AccountService
  let apple: AppleSignIn
  let verifier: NotificationVerifier

  init(_ service: AccountService, _ apple: AppleSignIn) {
    self.service = service
    self.apple = apple
    verifier = NotificationVerifier(clients: apple.apple.clients, issuers: apple.apple.issuers)
  }

  private var store: any AppleEventStore { service.ports.appleEvents }

  /// Keeps what the token tells, and has it applied; the types of its events. Throws a ``Failure``, and nothing is
  /// kept then.
  func receive(_ text: String) async throws -> [String] {
    let now = service.environment.now()
    let notification: AppleNotification
    do {
      let token = try AppleToken(parsing: text)
      notification = try verifier.verify(
        token, key: try await apple.keys.key(token.kid), now: now / 1000)
    } catch let error as AppleTokenError {
      service.metrics.appleEvents["refused"].add()
      throw Failure.notification(error)
    }
    let events = Self.events(of: notification)
    let isNew = try await storage { try await store.record(events, now: now) }
    service.metrics.appleEvents[isNew ? "received" : "duplicate"].add()
    if isNew {
      service.environment.background {
        // What fails here is left to the job.
        do { try await applyPending() } catch { report(error) }
      }
    }
    return events.map(\.type)
  }

  /// Applies what waits. An event that cannot be applied holds up no other.
  func applyPending() async throws {
    let piece: Int64 = 100
    var failure: (any Error)?
    for _ in 0..<100 {
      let now = service.environment.now()
      let pending = try await store.pending(now: now, retryAt: now + Self.retryAfter, limit: piece)
      for event in pending {
        try Task.checkCancellation()
        do {
          try await apply(event)
        } catch let error as CancellationError {
          throw error
        } catch {
          failure = error
        }
      }
      if pending.count < piece { break }
    }
    if let failure { throw failure }
  }

  /// Forgets what is long done.
  func forget() async throws {
    try await store.forget(before: service.environment.now() - Self.retention)
  }

  private func apply(_ pending: PendingAppleEvent) async throws {
    // No call of Apple's stands in a transaction; what it says is judged there against what is known by then.
    let event = pending.event
    let policy = AppleEventPolicy(
      onConsentRevoked: apple.apple.onConsentRevoked, onAccountDeleted: apple.apple.onAccountDeleted)
    var holds = false
    if policy.mayDelete(event.kind) {
      guard let answer = try await apple.exchange.consentHolds(pending.tokens) else { return }
      holds = answer
    }
    let applied = try await store.apply(
      event.id, consentHolds: holds, policy: policy, now: service.environment.now())
    guard let applied else { return }
    var outcome = applied.outcome
    if outcome == .deleting, let user = applied.user {
      outcome = try await delete(user)
      try await store.finish(event.id, outcome, now: service.environment.now())
    }
    service.metrics.appleEvents[outcome.rawValue].add()
    let members: [(String, JSONValue)] = [
      ("jti", .string(event.id)), ("type", .string(event.type)), ("outcome", .string(outcome.rawValue)),
    ]
    switch outcome {
    case .contradicted, .recorded:
      service.metrics.alarms[Metrics.Alarm.appleDeletion].add()
      service.log.error("apple_deletion", members)
    default: service.log.info("apple_event", members)
    }
  }

  /// Deletes the account of an identity whose sessions have ended. What throws is tried again with the event.
  private func delete(_ user: UUID) async throws -> AppleEventOutcome {
    switch try await service.deletion.start(user: user, origin: .apple) {
    case .success, .failure(.userNotFound): return .deleting
    case .failure(let refusal):
      service.metrics.alarms[Metrics.Alarm.appleDeletion].add()
      service.log.error(
        "apple_deletion_refused",
        [("user", .string(user.description)), ("error", .string("\(refusal)"))])
      return .revoked
    }
  }

  private func report(_ error: any Error) {
    guard !(error is CancellationError) else { return }
    service.metrics.alarms[Metrics.Alarm.storage].add()
    service.log.error("apple_events_not_applied", [("error", .string("\(error)"))])
  }

  /// The events in the accounts' words. None happened after Apple told of it.
  private static func events(of notification: AppleNotification) -> [Accounts.AppleEvent] {
    let latest = (notification.issuedAt + IdentityTokenVerifier.clockSkew) * 1000
    return notification.events.enumerated().map { index, event in
      Accounts.AppleEvent(
        id: index == 0 ? notification.id : "\(notification.id)#\(index)", type: event.type.rawValue,
        teamID: notification.client.teamID, subject: event.subject ?? "", time: min(event.time, latest))
    }
  }
}
