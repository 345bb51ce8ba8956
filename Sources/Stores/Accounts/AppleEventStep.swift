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

  func run() async throws -> AppleEventResult? {
    guard let seen = try await waiting() else { return nil }
    // Nobody signs in with it, links it, or applies another event to it meanwhile.
    try await transaction.lock(names: ["subject apple \(seen.subject)"])
    guard let event = try await waiting() else { return nil }
    let (identity, user) = try await identity(of: event)
    let hasOther = user?.identities.contains { $0.id != identity?.id && $0.status == .live } ?? false
    let outcome = try await carryOut(
      AppleEventRule.decide(
        event, identity: identity, hasOther: hasOther, consentHolds: consentHolds, policy: policy, now: now),
      event, wasRevoked: identity?.status == .revoked)
    if let identity, outcome == .contradicted || outcome == .recorded {
      try AuditRows.write(
        .appleAccountDeleted, by: .apple, user: identity.userID, reason: outcome.rawValue, now: now,
        transaction)
    }
    let result = AppleEventResult(outcome, user: identity?.userID)
    // Told once the deletion is begun: it must not be forgotten before.
    if outcome == .deleting { return result }
    try transaction.enqueue(
      "update apple_events set applied_at = $2, outcome = $3 where jti = $1",
      [.text(id), .integer(now), .text(outcome.rawValue)])
    return result
  }

  /// The event, unless it was applied.
  private func waiting() async throws -> AppleEvent? {
    try await transaction.first(
      """
      select jti, type, team_id, subject, event_time from apple_events
      where jti = $1 and applied_at is null
      """, [.text(id)]
    ) { SQLAppleEventStore.event($0) }
  }

  /// The subject's identity, and its user, who is locked.
  private func identity(of event: AppleEvent) async throws -> (Identity?, User?) {
    let found = try await UserRows.identity(
      provider: "apple", teamID: event.teamID, subject: event.subject, transaction)
    guard let found else { return (nil, nil) }
    let user = try await UserRows.user(found.userID, locked: true, transaction)
    // The user may have gone, or let go of it, while this step waited.
    guard let identity = user?.identities.first(where: { $0.id == found.id }) else {
      throw DatabaseError.conflict
    }
    return (identity, user)
  }

  private func carryOut(
    _ decision: AppleEventRule.Decision, _ event: AppleEvent, wasRevoked: Bool
  ) async throws -> AppleEventOutcome {
    let reason = "\(event.type) by Apple"
    switch decision {
    case .nothing(let outcome): return outcome
    case .forward(let identity):
      try UserRows.update(identity, transaction)
      try AuditRows.write(
        .emailForwardingChanged, by: .apple, user: identity.userID, reason: reason, now: now, transaction)
      try await tell(
        .emailForwardingChanged, identity, [("forwards_email", .bool(identity.forwardsEmail == true))])
      return .forwarding
    case .revoke(let identity):
      try await revoke(identity, event)
      return .revoked
    case .delete(let identity):
      // Asked again, since the process ended before the deletion was begun: what is told was told.
      if !wasRevoked { try await revoke(identity, event) }
      return .deleting
    case .unlink(let identity):
      try await revoke(identity, event)
      try await unlink(identity, reason: reason)
      return .unlinked
    }
  }

  private func revoke(_ identity: Identity, _ event: AppleEvent) async throws {
    try await AccountSessionRows.endAll(of: identity.userID, transaction)
    try UserRows.endDeviceTokens(of: identity.userID, transaction)
    try UserRows.update(identity, transaction)
    try transaction.enqueue(
      "delete from apple_tokens where identity = $1", [SQLValue(identity.id)])
    try AuditRows.write(
      .identityRevoked, by: .apple, user: identity.userID, reason: "\(event.type) by Apple", now: now,
      transaction)
    try await tell(.consentRevoked, identity, [("reason", .string(event.type))])
  }

  private func unlink(_ identity: Identity, reason: String) async throws {
    guard let owner = try await UserRows.user(identity.userID, transaction) else { return }
    try await PersonRows.carry(from: owner.id, to: [identity], now: now, transaction)
    try await transaction.execute("delete from identities where id = $1", [SQLValue(identity.id)])
    let left = Profile.updated(owner, unlinking: identity, now: now)
    try UserRows.update(left, transaction)
    try AuditRows.write(
      .identityUnlinked, by: .apple, user: identity.userID, reason: reason, now: now, transaction)
    try EventRows.insert(.about(identity, of: left, .userUnlinked, now: now), transaction)
  }

  /// Tells of the identity as it is now.
  private func tell(
    _ kind: OutgoingEvent.Kind, _ identity: Identity, _ members: [(String, JSONValue)]
  ) async throws {
    guard let user = try await UserRows.user(identity.userID, transaction) else { return }
    try EventRows.insert(.about(identity, of: user.with(identity), kind, members, now: now), transaction)
  }
}
