import Accounts
import Encodings
import SQL

/// Going over to the user whose an identity is (RULES §3.7).
struct SwitchStep {
  let change: AccountSwitch
  let transaction: Transaction

  func run() async throws -> OpenSession {
    guard let ticket = try await SwitchTicketRows.ticket(change.ticketHash, locked: false, transaction) else {
      throw SignInRefusal.challengeInvalid
    }
    try await transaction.lock(names: ["subject \(ticket.provider) \(ticket.subject)"])
    let facts = try await load(ticket)
    switch try SwitchRule.decide(change, facts) {
    case .again(let user):
      guard let session = facts.opened else { throw SignInRefusal.tokenUsed }
      return OpenSession(user: user, session: session)
    case .go(let user, let authTime, let left):
      var user = user
      user.lastSignInAt = change.now
      user.updatedAt = change.now
      try UserRows.update(user, transaction)
      // The ticket stands for a sign-in: what Apple told of before it is over (RULES §2.3).
      if var identity = facts.identity, identity.consentAt < ticket.issuedAt || identity.status != .live {
        identity.status = .live
        identity.consentAt = max(identity.consentAt, ticket.issuedAt)
        identity.updatedAt = change.now
        try UserRows.update(identity, transaction)
        user = user.with(identity)
      }
      let method = AuthenticationMethod(method: "oauth", timestamp: change.now / 1_000)
      let session = Session(
        id: change.session, userID: user.id, createdAt: change.now, refreshedAt: change.now,
        authTime: authTime, methods: [method], keyID: change.keyID)
      try AccountSessionRows.insert(session, transaction)
      try SwitchTicketRows.use(ticket.hash, opened: session.id, now: change.now, transaction)
      if let left { try LeftUserRows.insert(left, leftBy: session.id, transaction) }
      try AuditRows.write(
        .login, by: change.origin, user: user.id, session: session.id, reason: "switched", now: change.now,
        transaction)
      let switched = OpenSession(user: user, session: session)
      try EventRows.insert(
        .switched(switched, from: facts.bearer?.user.id, now: change.now), transaction)
      return switched
    }
  }

  private func load(_ seen: SwitchTicket) async throws -> SwitchRule.Facts {
    let found = try await UserRows.identity(
      provider: seen.provider, teamID: seen.teamID, subject: seen.subject, transaction)
    let owner = try await AccountSessionRows.userID(change.bearer, transaction)
    let users = try await UserRows.lock([owner, found?.userID].compactMap { $0 }, transaction)
    var bearer: OpenSession?
    if let user = users.first(where: { $0.id == owner }),
      let session = try await AccountSessionRows.locked(change.bearer, of: user.id, transaction)
    {
      bearer = OpenSession(user: user, session: session)
    }
    let ticket = try await SwitchTicketRows.ticket(change.ticketHash, locked: true, transaction)
    let user = users.first { $0.id == found?.userID }
    return SwitchRule.Facts(
      ticket: ticket, opened: try await AccountSessionRows.session(ticket?.opened, transaction),
      bearer: bearer,
      identity: user?.identities.first { $0.id == found?.id }, user: user,
      revokedAt: try await IdentityTokenRows.revocation(
        teamID: seen.teamID, subject: seen.subject, transaction))
  }
}
