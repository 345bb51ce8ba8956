package import Encodings

/// What linking an identity to the bearer's user does (RULES §3.2, §3.6, §3.8).
package enum LinkRule {
  package struct Facts: Sendable, Equatable {
    package var token: TokenFacts
    /// The bearer's session and user; nil where it is gone.
    package var bearer: OpenSession?
    /// The identity of (provider, team, subject), or the one that was it before its team's transfer.
    package var identity: Identity?
    /// Whether another user has the token's address.
    package var isAddressTaken: Bool

    package init(token: TokenFacts, bearer: OpenSession?, identity: Identity?, isAddressTaken: Bool = false) {
      self.token = token
      self.bearer = bearer
      self.identity = identity
      self.isAddressTaken = isAddressTaken
    }
  }

  package enum Decision: Sendable, Equatable {
    /// The session of the same request once more.
    case again
    /// The identity becomes the user's; a new session replaces the bearer's, with this `auth_time`.
    case link(OpenSession, authTime: Int64)
    /// The bearer's session was retired by this identity's link and the client never had the new one: another one.
    case reopen(OpenSession, Identity)
    /// It is the user's with this id: a ticket is stored.
    case conflict(UUID)
  }

  package static func decide(_ link: IdentityLink, _ facts: Facts) throws(SignInRefusal) -> Decision {
    let (signIn, assertion) = (link.signIn, link.signIn.assertion)
    guard let bearer = facts.bearer else { throw .sessionNotFound }
    try bearer.user.mayEnter(at: signIn.now)
    let verdict = try facts.token.judge(assertion, .link, bearer: link.bearer, now: signIn.now)
    if verdict == .again { return .again }
    if let identity = facts.identity {
      guard identity.userID == bearer.user.id else { return .conflict(identity.userID) }
      guard bearer.session.successor != nil else { throw .alreadyLinked }
      return .reopen(bearer, identity)
    }
    let identities = bearer.user.identities
    let ofTeam = identities.count { $0.provider == assertion.provider && $0.teamID == assertion.teamID }
    if ofTeam >= signIn.policy.identitiesPerTeam { throw .tooManyIdentities }
    if !identities.isEmpty,
      !bearer.session.isFresh(maxAge: link.maxAge, now: signIn.now)
    {
      throw .stepUpRequired(maxAge: link.maxAge)
    }
    if bearer.user.email == nil, Profile.address(assertion) != nil, facts.isAddressTaken {
      throw .emailTaken
    }
    // A step-up counts only with an identity that was linked before (RULES §3.2).
    let authTime = identities.isEmpty ? assertion.authTime(at: signIn.now) : bearer.session.authTime
    return .link(bearer, authTime: authTime)
  }
}

extension Session {
  /// How far another node's clock may be ahead, seconds.
  private static let clockAllowance: Int64 = 120

  /// Whether the user proved themself within `maxAge` seconds (RULES §3.2). A time that is yet to come, written while a
  /// clock ran ahead, proves nothing: it would do so until then.
  package func isFresh(maxAge: Int64, now: Int64) -> Bool {
    let age = (now / 1_000).saturatingSubtract(authTime)
    return age <= maxAge && age >= -Self.clockAllowance
  }
}

/// Whether an identity token renews the bearer's `auth_time` (RULES §3.3).
package enum ReauthenticationRule {
  package enum Decision: Sendable, Equatable {
    /// The session as it is, for the same request once more.
    case again(OpenSession)
    case renew(OpenSession, Identity)
  }

  package static func decide(
    _ signIn: IdentitySignIn, bearer: UUID, _ facts: LinkRule.Facts
  ) throws(SignInRefusal) -> Decision {
    guard let open = facts.bearer else { throw .sessionNotFound }
    try open.user.mayEnter(at: signIn.now)
    let verdict = try facts.token.judge(signIn.assertion, .reauthenticate, bearer: bearer, now: signIn.now)
    guard let identity = facts.identity, identity.userID == open.user.id else { throw .userMismatch }
    return verdict == .again ? .again(open) : .renew(open, identity)
  }
}
