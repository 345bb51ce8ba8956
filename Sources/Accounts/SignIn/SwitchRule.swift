package import Encodings

/// Leave to go over to the user whose an identity is, stored when it could not be linked (RULES §3.7). Times are
/// milliseconds since 1970.
package struct SwitchTicket: Sendable, Equatable {
  /// SHA-256 of what the client was given.
  package var hash: [UInt8]
  /// The session that it is bound to.
  package var bearer: UUID
  package var provider: String
  package var teamID: String
  package var subject: String
  /// Whose the identity was.
  package var user: UUID
  /// `iat` of the identity token.
  package var issuedAt: Int64
  /// Of the identity token, seconds since 1970.
  package var authTime: Int64
  package var expiresAt: Int64
  package var usedAt: Int64?
  /// The session that it opened.
  package var opened: UUID?

  package init(
    hash: [UInt8], bearer: UUID, provider: String, teamID: String, subject: String, user: UUID,
    issuedAt: Int64, authTime: Int64, expiresAt: Int64, usedAt: Int64? = nil, opened: UUID? = nil
  ) {
    self.hash = hash
    self.bearer = bearer
    self.provider = provider
    self.teamID = teamID
    self.subject = subject
    self.user = user
    self.issuedAt = issuedAt
    self.authTime = authTime
    self.expiresAt = expiresAt
    self.usedAt = usedAt
    self.opened = opened
  }
}

/// What a switch ticket does (RULES §3.7).
package enum SwitchRule {
  package struct Facts: Sendable, Equatable {
    package var ticket: SwitchTicket?
    /// The session that the ticket opened, where it lives.
    package var opened: Session?
    /// The bearer's session and user, where they live.
    package var bearer: OpenSession?
    /// The identity as it is now.
    package var identity: Identity?
    /// Its user.
    package var user: User?
    /// `event_time` of the last event by which consent ended (RULES §2.3).
    package var revokedAt: Int64?

    package init(
      ticket: SwitchTicket?, opened: Session? = nil, bearer: OpenSession? = nil, identity: Identity? = nil,
      user: User? = nil, revokedAt: Int64? = nil
    ) {
      self.ticket = ticket
      self.opened = opened
      self.bearer = bearer
      self.identity = identity
      self.user = user
      self.revokedAt = revokedAt
    }
  }

  package enum Decision: Sendable, Equatable {
    /// The session that it opened, once more.
    case again(User)
    /// A session for the user with this `auth_time`; `leaving` is an anonymous user who is left behind.
    case go(User, authTime: Int64, leaving: UUID?)
  }

  package static func decide(_ change: AccountSwitch, _ facts: Facts) throws(SignInRefusal) -> Decision {
    guard let ticket = facts.ticket, ticket.bearer == change.bearer else { throw .challengeInvalid }
    if let usedAt = ticket.usedAt {
      // The bearer's session may be gone by now.
      guard change.now < usedAt.saturatingAdd(UsedToken.repeatWindow), let opened = facts.opened,
        opened.acknowledgedAt == nil, let user = facts.user, user.id == opened.userID
      else { throw .tokenUsed }
      try user.mayEnter(at: change.now)
      return .again(user)
    }
    guard change.now < ticket.expiresAt else { throw .challengeInvalid }
    guard let bearer = facts.bearer else { throw .sessionNotFound }
    try bearer.user.mayEnter(at: change.now)
    guard let identity = facts.identity, let user = facts.user, identity.userID == user.id,
      user.id == ticket.user, user.id != bearer.user.id
    else { throw .challengeInvalid }
    try user.mayEnter(at: change.now)
    if let revokedAt = facts.revokedAt, ticket.issuedAt <= revokedAt { throw .consentRevoked }
    return .go(
      user, authTime: min(ticket.authTime, change.now / 1_000),
      leaving: bearer.user.isAnonymous ? bearer.user.id : nil)
  }
}
