package import Encodings

/// An identity token that was presented before (RULES §2.1, §3.6). Times are milliseconds since 1970.
package struct UsedToken: Sendable, Equatable {
  package enum Use: Int64, Sendable {
    case signIn = 0
    case link = 1
    case reauthenticate = 2
    /// It was to be linked, and the identity is another user's: nothing was done with it.
    case conflict = 3
  }

  package var use: Use
  package var requestHash: [UInt8]
  /// The session that it opened or renewed.
  package var session: UUID?
  /// The session of the bearer that came with it.
  package var bearer: UUID?
  package var usedAt: Int64

  package init(use: Use, requestHash: [UInt8], session: UUID? = nil, bearer: UUID? = nil, usedAt: Int64) {
    self.use = use
    self.requestHash = requestHash
    self.session = session
    self.bearer = bearer
    self.usedAt = usedAt
  }

  /// How long the same request gives the same outcome, milliseconds.
  package static let repeatWindow: Int64 = 120_000
  /// How long a token whose link met a conflict still signs in, milliseconds.
  package static let conflictWindow: Int64 = 300_000
}

/// What a transaction knows of a token when it judges it.
package struct TokenFacts: Sendable, Equatable {
  /// The earlier use; nil for a token that is new.
  package var used: UsedToken?
  /// The session of that use, where it lives.
  package var opened: Session?
  /// The challenge that the token answers, where it is there and not used.
  package var challenge: AppleChallenge?
  /// `event_time` of the last event by which consent ended (RULES §2.3).
  package var revokedAt: Int64?

  package init(
    used: UsedToken? = nil, opened: Session? = nil, challenge: AppleChallenge? = nil, revokedAt: Int64? = nil
  ) {
    self.used = used
    self.opened = opened
    self.challenge = challenge
    self.revokedAt = revokedAt
  }

  enum Verdict: Equatable {
    /// To be consumed, with its challenge where it has one.
    case fresh
    /// The same request once more: its session is answered again.
    case again
  }

  /// Whether the token may be used so (RULES §2.1, §2.3, §3.3, §3.6).
  ///
  /// - Parameter bearer: the session that it is used with; nil for signing in.
  func judge(
    _ assertion: IdentityAssertion, _ use: UsedToken.Use, bearer: UUID?, now: Int64
  ) throws(SignInRefusal) -> Verdict {
    var isChallengeConsumed = false
    if let used {
      if used.use == use, isRepeat(of: used, assertion, bearer: bearer, now: now) { return .again }
      let isOpen = now < used.usedAt.saturatingAdd(UsedToken.conflictWindow)
      guard used.use == .conflict, use == .signIn || use == .link && bearer == used.bearer, isOpen else {
        throw .tokenUsed
      }
      isChallengeConsumed = true
    }
    if !isChallengeConsumed { try judgeChallenge(assertion, use, bearer: bearer, now: now) }
    if let revokedAt, assertion.issuedAt <= revokedAt { throw .consentRevoked }
    return .fresh
  }

  private func isRepeat(
    of used: UsedToken, _ assertion: IdentityAssertion, bearer: UUID?, now: Int64
  ) -> Bool {
    guard let opened, used.session == opened.id, used.requestHash == assertion.requestHash,
      now < used.usedAt.saturatingAdd(UsedToken.repeatWindow)
    else { return false }
    // A bearer proves who repeats; a sign-in is whoever's holds the body, until its session was seen in use.
    return bearer == nil ? opened.acknowledgedAt == nil : bearer == used.bearer
  }

  private func judgeChallenge(
    _ assertion: IdentityAssertion, _ use: UsedToken.Use, bearer: UUID?, now: Int64
  ) throws(SignInRefusal) {
    guard assertion.challengeHash != nil else {
      if use == .reauthenticate { throw .challengeInvalid }
      return
    }
    let purpose: ChallengePurpose =
      switch use {
      case .signIn: .signIn
      case .link, .conflict: .link
      case .reauthenticate: .reauthenticate
      }
    guard let challenge, challenge.hash == assertion.challengeHash, challenge.purpose == purpose,
      challenge.clientID == nil || challenge.clientID == assertion.clientID, challenge.expiresAt > now,
      challenge.session == bearer || challenge.session == nil && use != .reauthenticate
    else { throw .challengeInvalid }
  }
}
