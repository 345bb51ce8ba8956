package import Encodings

/// A silent first launch. Ids are given, so that a store needs no randomness. Times are milliseconds since 1970.
package struct AnonymousSignUp: Sendable, Equatable {
  package var user: UUID
  package var session: UUID
  package var userMetadata: JSONValue
  package var keyID: [UInt8]?
  package var origin: RequestOrigin
  package var now: Int64

  package init(
    user: UUID, session: UUID, userMetadata: JSONValue, keyID: [UInt8]? = nil,
    origin: RequestOrigin = .user, now: Int64
  ) {
    self.user = user
    self.session = session
    self.userMetadata = userMetadata
    self.keyID = keyID
    self.origin = origin.with(device: keyID)
    self.now = now
  }
}

/// An identity token that signs somebody in, whose signature, audience, time and nonce hold.
package struct IdentitySignIn: Sendable, Equatable {
  package var assertion: IdentityAssertion
  /// Ids for whatever has to be made.
  package var user: UUID
  package var identity: UUID
  package var session: UUID
  package var policy: SignInPolicy
  package var keyID: [UInt8]?
  package var origin: RequestOrigin
  package var now: Int64
  package var expectation = StepExpectation.anything

  package init(
    _ assertion: IdentityAssertion, user: UUID, identity: UUID, session: UUID, policy: SignInPolicy,
    keyID: [UInt8]? = nil, origin: RequestOrigin = .user, now: Int64
  ) {
    self.assertion = assertion
    self.user = user
    self.identity = identity
    self.session = session
    self.policy = policy
    self.keyID = keyID
    self.origin = origin.with(device: keyID)
    self.now = now
  }
}

/// What the operator allows.
package struct SignInPolicy: Sendable, Equatable {
  /// Whether unknown identities make users.
  package var allowsSignUp: Bool
  /// RULES §3.11: whether a verified address that exactly one user has finds that user.
  package var matchesVerifiedEmail: Bool
  /// RULES §3.2: Apple identities a user may have in a team.
  package var identitiesPerTeam: Int

  package init(allowsSignUp: Bool = true, matchesVerifiedEmail: Bool = false, identitiesPerTeam: Int = 1) {
    self.allowsSignUp = allowsSignUp
    self.matchesVerifiedEmail = matchesVerifiedEmail
    self.identitiesPerTeam = identitiesPerTeam
  }
}

/// Why an identity token signs nobody in, or links nothing. Nothing was changed.
package enum SignInRefusal: Error, Sendable, Equatable {
  /// The token was used before, by another request or for too long (RULES §2.1, §3.6).
  case tokenUsed
  /// The challenge is unknown, used, expired, or was made for another purpose, client or session.
  case challengeInvalid
  /// Consent was withdrawn after the token was made (RULES §2.3).
  case consentRevoked
  case banned
  /// The account is being deleted (RULES §4.1).
  case deleting
  /// The operator lets nobody new in.
  case signUpDisabled
  /// The bearer's session or user is gone.
  case sessionNotFound
  /// The identity is this user's already, and the same request did not link it.
  case alreadyLinked
  /// The identity is another user's; a switch ticket for that one was stored (RULES §3.7).
  case linkedToAnotherUser
  /// The user has as many Apple identities of the team as the policy allows (RULES §3.2).
  case tooManyIdentities
  /// Another user has the address (Supabase's `email_exists`).
  case emailTaken
  /// The session's `auth_time` is too old for a further link (RULES §3.2), `maxAge` in seconds.
  case stepUpRequired(maxAge: Int64)
  /// Re-authentication by an identity that is not linked to the bearer's user.
  case userMismatch
  /// The session left no anonymous user behind, they are anonymous no more, or the other word was said of them before
  /// (RULES §3.7).
  case nothingLeftBehind
  /// A table of the app's keeps the user who was to be discarded; `what` is the database's word of it, for the
  /// operator.
  case discardBlocked(what: String)
  /// It came to something else than was expected (``StepExpectation``): it may be asked again.
  case changed
}

/// An identity to link to the bearer's user.
package struct IdentityLink: Sendable, Equatable {
  package var signIn: IdentitySignIn
  /// The session of the bearer.
  package var bearer: UUID
  /// SHA-256 of the switch ticket to store on a conflict, and when it expires.
  package var ticketHash: [UInt8]
  package var ticketExpiresAt: Int64
  /// How old `auth_time` may be where the user has an identity already, seconds.
  package var maxAge: Int64

  package init(
    _ signIn: IdentitySignIn, bearer: UUID, ticketHash: [UInt8], ticketExpiresAt: Int64, maxAge: Int64
  ) {
    self.signIn = signIn
    self.bearer = bearer
    self.ticketHash = ticketHash
    self.ticketExpiresAt = ticketExpiresAt
    self.maxAge = maxAge
  }
}

/// A user who found their identity at another account goes over to it (RULES §3.7).
package struct AccountSwitch: Sendable, Equatable {
  package var ticketHash: [UInt8]
  /// The session of the bearer, to which the ticket is bound.
  package var bearer: UUID
  package var session: UUID
  package var keyID: [UInt8]?
  package var origin: RequestOrigin
  package var now: Int64
  package var expectation = StepExpectation.anything

  package init(
    ticketHash: [UInt8], bearer: UUID, session: UUID, keyID: [UInt8]? = nil, origin: RequestOrigin = .user,
    now: Int64
  ) {
    self.ticketHash = ticketHash
    self.bearer = bearer
    self.session = session
    self.keyID = keyID
    self.origin = origin.with(device: keyID)
    self.now = now
  }
}
