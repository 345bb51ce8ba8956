package import Encodings

extension AnonymousSignUp {
  /// The user and the session that it makes.
  package var newcomer: OpenSession {
    let user = User(
      id: user, isAnonymous: true, userMetadata: Metadata.object(userMetadata), createdAt: now,
      updatedAt: now, lastSignInAt: now)
    let seconds = now / 1_000
    return OpenSession(
      user: user,
      session: Session(
        id: session, userID: user.id, createdAt: now, refreshedAt: now, authTime: seconds,
        methods: [AuthenticationMethod(method: "anonymous", timestamp: seconds)], keyID: keyID))
  }
}

extension IdentitySignIn {
  /// The user and the session that it makes where nobody has the identity.
  package var newcomer: OpenSession {
    let fresh = User(id: user, isAnonymous: false, createdAt: now, updatedAt: now)
    let identity = Profile.identity(self, of: fresh.id)
    var user = Profile.updated(fresh, by: assertion, before: nil, now: now)
    user.identities = [identity]
    user.appMetadata = Metadata.app(user.appMetadata, identities: user.identities)
    return OpenSession(user: user, session: openedSession(of: user.id))
  }

  /// The session that it opens, by the time that the token tells unless another is given (seconds since 1970).
  package func openedSession(of user: UUID, authTime: Int64? = nil) -> Session {
    Session(
      id: session, userID: user, createdAt: now, refreshedAt: now,
      authTime: authTime ?? assertion.authTime(at: now),
      methods: [AuthenticationMethod(method: "oauth", timestamp: now / 1_000)], keyID: keyID)
  }
}
