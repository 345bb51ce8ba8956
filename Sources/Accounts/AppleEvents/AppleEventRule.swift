/// What an event of Apple's changes (RULES §2.3, §2.4). Events come late, twice and in any order: each is judged by its
/// own time against what is known, so that their order makes no difference.
package enum AppleEventRule {
  /// How long after our own revocation Apple's word about it is expected, milliseconds (RULES §2.4).
  package static let ownRevocationWindow: Int64 = 600_000
  /// How far Apple's clock may be behind ours, milliseconds.
  package static let clockAllowance: Int64 = 60_000

  package enum Decision: Sendable, Equatable {
    /// The identity as it is to be, its user's sessions ended and its tokens forgotten.
    case revoke(Identity)
    /// The identity that its user loses; their sessions end.
    case unlink(Identity)
    /// The identity as it is to be, its user's sessions ended, until the account is deleted.
    case delete(Identity)
    /// The identity as it is to be.
    case forward(Identity)
    case nothing(AppleEventOutcome)
  }

  /// What is known when the event is kept; nil for one that waits to be applied.
  ///
  /// - Parameter ownRevocation: when this server last ended the subject's consent at Apple.
  package static func atOnce(_ event: AppleEvent, ownRevocation: Int64?) -> AppleEventOutcome? {
    switch event.kind {
    case .unknown: return .unknownType
    case .consentRevoked:
      guard let own = ownRevocation, event.time >= own.saturatingAdd(-clockAllowance),
        event.time <= own.saturatingAdd(ownRevocationWindow)
      else { return nil }
      return .ownRevocation
    case .accountDeleted, .emailEnabled, .emailDisabled: return nil
    }
  }

  /// - Parameters:
  ///   - identity: the subject's, where it has one here.
  ///   - hasOther: whether its user has another live identity.
  ///   - consentHolds: whether Apple honours a refresh token of it.
  package static func decide(
    _ event: AppleEvent, identity: Identity?, hasOther: Bool = false, consentHolds: Bool,
    policy: AppleEventPolicy, now: Int64
  ) -> Decision {
    guard event.kind != .unknown else { return .nothing(.unknownType) }
    guard var identity else { return .nothing(.unknownSubject) }
    identity.updatedAt = max(identity.updatedAt, now)
    switch event.kind {
    case .emailEnabled, .emailDisabled:
      if let known = identity.forwardingAt, event.time <= known { return .nothing(.stale) }
      identity.forwardsEmail = event.kind == .emailEnabled
      identity.forwardingAt = event.time
      return .forward(identity)
    case .consentRevoked, .accountDeleted, .unknown:
      // As old as the consent is newer than it, as for a token that comes after the event.
      guard event.time >= identity.consentAt else { return .nothing(.stale) }
      // RULES §2.4: a consent that Apple honours was not withdrawn, or it was given again.
      if consentHolds, policy.mayDelete(event.kind) { return .nothing(.contradicted) }
      if event.kind == .accountDeleted, policy.onAccountDeleted == .record { return .nothing(.recorded) }
      identity.status = .revoked
      let (deletes, unlinks) =
        event.kind == .accountDeleted
        ? (policy.onAccountDeleted == .delete, policy.onAccountDeleted == .delete)
        : (policy.onConsentRevoked == .delete, policy.onConsentRevoked != .revoke)
      if unlinks, hasOther { return .unlink(identity) }
      return deletes ? .delete(identity) : .revoke(identity)
    }
  }
}
