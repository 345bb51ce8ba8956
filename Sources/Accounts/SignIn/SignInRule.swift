/// Whom an identity token signs in (RULES §3.1, §3.6, §3.11).
package enum SignInRule {
  package struct Facts: Sendable, Equatable {
    package var token: TokenFacts
    /// The identity of (provider, team, subject), or the one that was it before its team's transfer.
    package var identity: Identity?
    /// Its user.
    package var user: User?
    /// Users with the token's address, confirmed; two are enough to know that it finds nobody.
    package var namesakes: [User]

    package init(token: TokenFacts, identity: Identity?, user: User?, namesakes: [User] = []) {
      self.token = token
      self.identity = identity
      self.user = user
      self.namesakes = namesakes
    }
  }

  package enum Decision: Sendable, Equatable {
    /// The session of the same request once more.
    case again
    /// A session for the identity's user.
    case signIn(User, Identity)
    /// The identity becomes one of this user's, found by address.
    case adopt(User)
    /// A new user.
    case signUp
  }

  package static func decide(
    _ signIn: IdentitySignIn, _ facts: Facts
  ) throws(SignInRefusal) -> Decision {
    let verdict = try facts.token.judge(signIn.assertion, .signIn, bearer: nil, now: signIn.now)
    if let user = facts.user, let identity = facts.identity {
      try user.mayEnter(at: signIn.now)
      guard verdict == .again else { return .signIn(user, identity) }
      // The identity may have become another user's since.
      guard facts.token.opened?.userID == user.id else { throw .tokenUsed }
      return .again
    }
    // Its session lives, but the identity is gone.
    guard verdict == .fresh else { throw .tokenUsed }
    if let user = match(signIn, facts.namesakes) {
      try user.mayEnter(at: signIn.now)
      return .adopt(user)
    }
    guard signIn.policy.allowsSignUp else { throw .signUpDisabled }
    return .signUp
  }

  /// Whether the token's address may find a user at all: verified, and no relay's (RULES §3.11).
  package static func mayMatch(_ signIn: IdentitySignIn) -> Bool {
    signIn.policy.matchesVerifiedEmail && signIn.assertion.isEmailVerified
      && Profile.address(signIn.assertion) != nil && Profile.isPrivate(signIn.assertion) != true
  }

  private static func match(_ signIn: IdentitySignIn, _ namesakes: [User]) -> User? {
    guard mayMatch(signIn), namesakes.count == 1, let user = namesakes.first,
      user.email == signIn.assertion.email, user.emailConfirmedAt != nil
    else { return nil }
    let hasOne = user.identities.contains {
      $0.provider == signIn.assertion.provider && $0.teamID == signIn.assertion.teamID && $0.status == .live
    }
    return hasOne ? nil : user
  }
}

extension User {
  /// Throws where no session of the user may be opened.
  func mayEnter(at now: Int64) throws(SignInRefusal) {
    if deletingSince != nil { throw .deleting }
    if isBanned(at: now) { throw .banned }
  }
}
