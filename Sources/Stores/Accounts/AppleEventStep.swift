import Accounts
import Encodings
import SQL

/// Applying an event of Apple's (RULES §2.3, §2.4).
struct AppleEventStep {
  let id: String
  let consentHolds: Bool
  let policy: AppleEventPolicy
  let now: Int64
  let transaction: Transaction

  func run() throws -> AppleEventOutcome? {
    guard let seen = try waiting() else { return nil }
    // Nobody signs in with it, links it, or applies another event to it meanwhile.
    try transaction.lock(names: ["subject apple \(seen.subject)"])
    guard let event = try waiting() else { return nil }
    let identity = try identity(of: event)
    let outcome = try carryOut(
      AppleEventRule.decide(
        event, identity: identity, consentHolds: consentHolds, policy: policy, now: now),
      event)
    if let identity, outcome == .contradicted || outcome == .recorded {
      try AuditRows.write(
        .appleAccountDeleted, by: .apple, user: identity.userID, reason: outcome.rawValue, now: now,
        transaction)
    }
    try transaction.enqueue(
      "update apple_events set applied_at = $2, outcome = $3 where jti = $1",
      [.text(id), .integer(now), .text(outcome.rawValue)])
    return outcome
  }

  /// The event, unless it was applied.
  private func waiting() throws -> AppleEvent? {
    try transaction.first(
      """
      select jti, type, team_id, subject, event_time from apple_events
      where jti = $1 and applied_at is null
      """, [.text(id)]
    ) { SQLAppleEventStore.event($0) }
  }

  /// The subject's identity, its user locked.
  private func identity(of event: AppleEvent) throws -> Identity? {
    let found = try UserRows.identity(
      provider: "apple", teamID: event.teamID, subject: event.subject, transaction)
    guard let found else { return nil }
    let user = try UserRows.user(found.userID, locked: true, transaction)
    // The user may have gone, or let go of it, while this step waited.
    guard let identity = user?.identities.first(where: { $0.id == found.id }) else {
      throw DatabaseError.conflict
    }
    return identity
  }

  private func carryOut(
    _ decision: AppleEventRule.Decision, _ event: AppleEvent
  ) throws -> AppleEventOutcome {
    let reason = "\(event.type) by Apple"
    switch decision {
    case .nothing(let outcome): return outcome
    case .forward(let identity):
      try UserRows.update(identity, transaction)
      try AuditRows.write(
        .emailForwardingChanged, by: .apple, user: identity.userID, reason: reason, now: now, transaction)
      try tell(.emailForwardingChanged, identity, [("forwards_email", .bool(identity.forwardsEmail == true))])
      return .forwarding
    case .revoke(let identity):
      try AccountSessionRows.endAll(of: identity.userID, transaction)
      try UserRows.endDeviceTokens(of: identity.userID, transaction)
      try UserRows.update(identity, transaction)
      try transaction.enqueue(
        "delete from apple_tokens where identity = $1", [SQLValue(identity.id)])
      try AuditRows.write(
        .identityRevoked, by: .apple, user: identity.userID, reason: reason, now: now, transaction)
      try tell(.consentRevoked, identity, [("reason", .string(event.type))])
      return .revoked
    }
  }

  /// Tells of the identity as it is now.
  private func tell(
    _ kind: OutgoingEvent.Kind, _ identity: Identity, _ members: [(String, JSONValue)]
  ) throws {
    guard let user = try UserRows.user(identity.userID, transaction) else { return }
    try EventRows.insert(.about(identity, of: user.with(identity), kind, members, now: now), transaction)
  }
}
