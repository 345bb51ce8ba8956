import Accounts
import Encodings
import SQL

/// Signing in by an identity token: finds the identity's user or makes both (RULES §3.1, §3.6, §3.11).
struct SignInStep {
  let signIn: IdentitySignIn
  let transaction: Transaction

  private var assertion: IdentityAssertion { signIn.assertion }
  private var now: Int64 { signIn.now }

  func run() async throws -> OpenSession {
    try await transaction.lock(names: IdentityTokenRows.names(assertion))
    let token = try await IdentityTokenRows.facts(assertion, transaction)
    let facts = try await load(token)
    let decision = try SignInRule.decide(signIn, facts)
    switch decision {
    case .again:
      guard let user = facts.user, let session = token.opened else { throw SignInRefusal.tokenUsed }
      return OpenSession(user: user, session: session)
    case .signIn(let user, let identity):
      let open = try await Self.enter(user, by: identity, signIn, transaction)
      return try await finish(open, token, .login)
    case .adopt(let user):
      let identity = try await ForwardingRows.consulted(Profile.identity(signIn, of: user.id), transaction)
      let adopted = Profile.updated(user, by: assertion, before: nil, now: now)
      try await UserRows.insert(identity, transaction)
      try UserRows.update(adopted, transaction)
      try AuditRows.write(
        .identityLinked, by: signIn.origin, user: user.id, session: signIn.session,
        reason: "matched by verified address",
        now: now, transaction)
      let entered = open(adopted, with: identity)
      try EventRows.insert(.linked(entered, identity, wasAnonymous: user.isAnonymous, now: now), transaction)
      return try await finish(entered, token, .login)
    case .signUp:
      var open = signIn.newcomer
      for (place, identity) in open.user.identities.enumerated() {
        open.user.identities[place] = try await ForwardingRows.consulted(identity, transaction)
      }
      guard try await UserRows.insert(open.user, transaction) else { throw DatabaseError.conflict }
      for identity in open.user.identities { try await UserRows.insert(identity, transaction) }
      return try await finish(open, token, .userSignedUp)
    }
  }

  private func load(_ token: TokenFacts) async throws -> SignInRule.Facts {
    let found = try await Self.identity(assertion, transaction)
    var namesakes: [UUID] = []
    if found == nil, SignInRule.mayMatch(signIn), let email = Profile.address(assertion) {
      namesakes = try await transaction.rows(
        "select id from users where email = $1 and email_confirmed_at is not null limit 2", [.text(email)]
      ) { try $0.uuid(0) }
    }
    let users = try await UserRows.lock(namesakes + (found.map { [$0.userID] } ?? []), transaction)
    guard let found else {
      return SignInRule.Facts(token: token, identity: nil, user: nil, namesakes: users)
    }
    // Its user may have gone, or let go of it, while this step waited.
    guard let user = users.first(where: { $0.id == found.userID }),
      let identity = user.identities.first(where: { $0.id == found.id })
    else { throw DatabaseError.conflict }
    return SignInRule.Facts(token: token, identity: identity, user: user)
  }

  private func finish(
    _ open: OpenSession, _ token: TokenFacts, _ action: AuditAction
  ) async throws -> OpenSession {
    try AccountSessionRows.insert(open.session, transaction)
    try AuditRows.write(
      action, by: signIn.origin, user: open.user.id, session: open.session.id, reason: assertion.provider,
      now: now, transaction)
    try await IdentityTokenRows.consume(
      assertion, token, .signIn, session: open.session.id, now: now, transaction)
    let event: OutgoingEvent =
      action == .userSignedUp
      ? .created(open.user, session: open.session.id, by: assertion.provider, now: now)
      : .signedIn(open, by: assertion.provider, now: now)
    try EventRows.insert(event, transaction)
    return open
  }

  private func open(_ user: User, with identity: Identity) -> OpenSession {
    OpenSession(
      user: user.with(identity), session: Self.session(signIn, of: user.id, authTime: nil))
  }

  // MARK: What linking does as well

  /// The token's identity, also by the name that it had before its team's transfer.
  static func identity(_ assertion: IdentityAssertion, _ transaction: Transaction) async throws -> Identity? {
    let found = try await UserRows.identity(
      provider: assertion.provider, teamID: assertion.teamID, subject: assertion.subject, transaction)
    if let found { return found }
    return try await UserRows.transferred(assertion, transaction)
  }

  /// Writes what the token says of a known identity and its user; a session for them, which is not written yet.
  static func enter(
    _ user: User, by identity: Identity, _ signIn: IdentitySignIn, _ transaction: Transaction
  ) async throws -> OpenSession {
    let assertion = signIn.assertion
    var known = Profile.updated(identity, by: assertion, now: signIn.now)
    let isRekeyed = known.subject != assertion.subject || known.teamID != assertion.teamID
    (known.teamID, known.subject) = (assertion.teamID, assertion.subject)
    let updated = Profile.updated(user, by: assertion, before: identity.email, now: signIn.now)
    try UserRows.update(updated, transaction)
    try UserRows.update(known, isRekeyed: isRekeyed, transaction)
    if isRekeyed {
      try await KeyUserRows.rename(identity, to: known, of: user.id, transaction)
      try AuditRows.write(
        .identityTransferred, by: signIn.origin, user: user.id,
        reason: "\(identity.teamID) to \(known.teamID)", now: signIn.now, transaction)
    }
    return OpenSession(
      user: updated.with(known), session: session(signIn, of: user.id, authTime: nil))
  }

  static func session(_ signIn: IdentitySignIn, of user: UUID, authTime: Int64?) -> Session {
    signIn.openedSession(of: user, authTime: authTime)
  }
}

extension User {
  /// The user with this identity, in the place of an older state of it.
  func with(_ identity: Identity) -> User {
    var user = self
    if let place = user.identities.firstIndex(where: { $0.id == identity.id }) {
      user.identities[place] = identity
    } else {
      user.identities.append(identity)
    }
    user.appMetadata = Metadata.app(user.appMetadata, identities: user.identities)
    return user
  }
}
