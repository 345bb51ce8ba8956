import Accounts
import Encodings
import SQL

/// Linking an identity to the bearer's user, and renewing the bearer's session by one (RULES §3.2, §3.3, §3.8).
struct LinkStep {
  let signIn: IdentitySignIn
  let bearer: UUID
  let transaction: Transaction

  private var assertion: IdentityAssertion { signIn.assertion }
  private var now: Int64 { signIn.now }

  func link(_ link: IdentityLink) async throws -> OpenSession {
    let facts = try await load()
    switch try LinkRule.decide(link, facts) {
    case .again:
      guard let open = facts.bearer, let session = facts.token.opened, session.userID == open.user.id else {
        throw SignInRefusal.tokenUsed
      }
      return OpenSession(user: open.user, session: session)
    case .link(let open, let authTime):
      let identity = try await ForwardingRows.consulted(
        Profile.identity(signIn, of: open.user.id), transaction)
      let user = Profile.updated(open.user, by: assertion, before: nil, now: now)
      try await UserRows.insert(identity, transaction)
      try UserRows.update(user, transaction)
      let session = SignInStep.session(signIn, of: user.id, authTime: authTime)
      try AuditRows.write(
        .identityLinked, by: signIn.origin, user: user.id, session: session.id, reason: assertion.provider,
        now: now, transaction
      )
      let linked = OpenSession(user: user.with(identity), session: session)
      try EventRows.insert(
        .linked(linked, identity, wasAnonymous: open.user.isAnonymous, now: now), transaction)
      return try await replace(open.session, by: linked, facts.token)
    case .reopen(let open, let identity):
      let entered = try await SignInStep.enter(open.user, by: identity, signIn, transaction)
      try AuditRows.write(
        .login, by: signIn.origin, user: open.user.id, session: entered.session.id, reason: "linked before",
        now: now,
        transaction)
      try EventRows.insert(.signedIn(entered, by: assertion.provider, now: now), transaction)
      return try await replace(open.session, by: entered, facts.token)
    case .conflict(let other):
      try SwitchTicketRows.insert(
        SwitchTicket(
          hash: link.ticketHash, bearer: bearer, provider: assertion.provider, teamID: assertion.teamID,
          subject: assertion.subject, user: other, issuedAt: assertion.issuedAt,
          authTime: assertion.authTime(at: now), expiresAt: link.ticketExpiresAt), transaction)
      try await IdentityTokenRows.consume(
        assertion, facts.token, .conflict, session: nil, bearer: bearer, now: now, transaction)
      throw SwitchOffered()
    }
  }

  /// The identity is another user's, and the ticket is written: a refusal that is to be committed.
  struct SwitchOffered: Error {}

  func reauthenticate() async throws -> OpenSession {
    let facts = try await load()
    switch try ReauthenticationRule.decide(signIn, bearer: bearer, facts) {
    case .again(let open): return open
    case .renew(let open, let identity):
      let entered = try await SignInStep.enter(open.user, by: identity, signIn, transaction)
      var session = open.session
      // What a clock that ran ahead wrote is no later than now.
      session.authTime = max(min(session.authTime, now / 1_000), assertion.authTime(at: now))
      session.authenticate("oauth", at: now)
      session.acknowledgedAt = session.acknowledgedAt ?? now
      try AccountSessionRows.update(session, transaction)
      try AuditRows.write(
        .login, by: signIn.origin, user: open.user.id, session: session.id, reason: "reauthenticated",
        now: now, transaction)
      try await IdentityTokenRows.consume(
        assertion, facts.token, .reauthenticate, session: session.id, bearer: bearer, now: now, transaction)
      let renewed = OpenSession(user: entered.user, session: session)
      try EventRows.insert(.reauthenticated(renewed, identity, now: now), transaction)
      return renewed
    }
  }

  private func load() async throws -> LinkRule.Facts {
    try await transaction.lock(names: IdentityTokenRows.names(assertion))
    let token = try await IdentityTokenRows.facts(assertion, transaction)
    let found = try await SignInStep.identity(assertion, transaction)
    let owner = try await AccountSessionRows.userID(bearer, transaction)
    let users = try await UserRows.lock([owner, found?.userID].compactMap { $0 }, transaction)
    // Its user may have gone, or let go of it, while this step waited.
    let identity = users.flatMap(\.identities).first { $0.id == found?.id }
    if found != nil, identity == nil { throw DatabaseError.conflict }
    var open: OpenSession?
    if let user = users.first(where: { $0.id == owner }),
      let session = try await AccountSessionRows.locked(bearer, of: user.id, transaction)
    {
      open = OpenSession(user: user, session: session)
    }
    var isTaken = false
    if let user = open?.user, user.email == nil, identity == nil, let email = Profile.address(assertion) {
      isTaken = try await UserRows.isTaken(email, but: user.id, transaction)
    }
    return LinkRule.Facts(token: token, bearer: open, identity: identity, isAddressTaken: isTaken)
  }

  /// Writes the new session and makes it the bearer's successor.
  private func replace(
    _ old: Session, by new: OpenSession, _ token: TokenFacts
  ) async throws -> OpenSession {
    var (old, new) = (old, new)
    // What was bound to a key stays so.
    new.session.keyID = new.session.keyID ?? old.keyID
    // Whoever had the former successor has what retires this session: another one does not revive it.
    if try await AccountSessionRows.session(old.successor, transaction)?.acknowledgedAt != nil {
      new.session.acknowledgedAt = now
    }
    old.successor = new.session.id
    old.acknowledgedAt = old.acknowledgedAt ?? now
    try AccountSessionRows.insert(new.session, transaction)
    try AccountSessionRows.update(old, transaction)
    try await IdentityTokenRows.consume(
      assertion, token, .link, session: new.session.id, bearer: bearer, now: now, transaction)
    return new
  }
}
