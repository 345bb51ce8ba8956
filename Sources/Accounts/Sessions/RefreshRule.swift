/// What is to be done with a session for a refresh token whose MAC holds (RULES §3.4, §3.5, §3.8).
package enum RefreshRule {
  /// How long a retired session yields tokens of its successor once that is acknowledged, milliseconds.
  package static let grace: Int64 = 60_000

  package enum Decision: Sendable, Equatable {
    /// The session's counter becomes this one, and its key this one where it had none.
    case rotate(counter: Int64, boundTo: [UInt8]?)
    /// The current token is answered once more.
    case answerAgain
    /// The current token of the session's successor is answered.
    case answerSuccessor
    /// Refused. Where `reused` says so, the session is ended.
    case refuse(RefreshRefusal)
  }

  /// The successor of a session that an identity was linked from.
  package enum Successor: Sendable, Equatable {
    case none
    case ended
    /// When the client was seen to have it.
    case living(acknowledgedAt: Int64?)
  }

  /// - Parameters:
  ///   - session: as it is stored.
  ///   - user: its user.
  package static func decide(
    _ refresh: Refresh, session: Session, user: User, successor: Successor
  ) -> Decision {
    if user.deletingSince != nil { return .refuse(.deleting) }
    if user.isBanned(at: refresh.now) { return .refuse(.banned) }
    if let limit = refresh.policy.lifetime, session.createdAt.saturatingAdd(limit) <= refresh.now {
      return .refuse(.expired)
    }
    if let limit = refresh.policy.inactivity, session.refreshedAt.saturatingAdd(limit) <= refresh.now {
      return .refuse(.inactive)
    }
    let isProven = refresh.keyID != nil && refresh.keyID == session.keyID
    let parent = session.counter.saturatingSubtract(1)
    let isMoving = !isProven && mayMove(refresh, session, user) && refresh.counter >= parent
    guard isMoving || isBound(refresh, session, isProven: isProven) else {
      return .refuse(.attestationRequired)
    }
    switch successor {
    case .none, .living(acknowledgedAt: nil): break
    case .ended: return .refuse(.reused(endedFamily: false))
    case .living(let acknowledgedAt?):
      // A retired session is nobody's to end: its user lives on in the successor.
      let inGrace = refresh.now < acknowledgedAt.saturatingAdd(grace)
      return inGrace && refresh.counter >= parent
        ? .answerSuccessor : .refuse(.reused(endedFamily: false))
    }
    // Only where every session must have a key: else a key that is lost later would take the session with it.
    let binds = isMoving || session.keyID == nil && refresh.binding == .require
    let binding = binds ? refresh.keyID : nil
    if refresh.counter >= session.counter {
      // A counter beyond ours was made by us before the database went back in time, to a backup.
      return .rotate(counter: refresh.counter.saturatingAdd(1), boundTo: binding)
    }
    if refresh.counter == parent { return .answerAgain }
    // A retired session is nobody's to end, also before its successor is acknowledged: who lost the answer to a link
    // has nothing else (RULES §3.8).
    guard user.isAnonymous else { return .refuse(.reused(endedFamily: successor == .none)) }
    // The device itself asks: neither the token that others may hold nor its parent is taken any more.
    if isProven { return .rotate(counter: session.counter.saturatingAdd(2), boundTo: nil) }
    return .refuse(.reused(endedFamily: false))
  }

  /// Whether another genuine app instance may take the session over: a reinstalled app has its keychain and so
  /// its session, but lost its key, and an anonymous user could never come back. A user with an identity signs in
  /// again instead.
  private static func mayMove(_ refresh: Refresh, _ session: Session, _ user: User) -> Bool {
    refresh.binding == .prefer && user.isAnonymous && session.keyID != nil && refresh.keyID != nil
  }

  private static func isBound(_ refresh: Refresh, _ session: Session, isProven: Bool) -> Bool {
    switch refresh.binding {
    case .off: true
    case .prefer: session.keyID == nil || isProven
    case .require: session.keyID == nil ? refresh.keyID != nil : isProven
    }
  }
}
