package import Accounts
package import Encodings
package import SQL

/// Users, identities and sessions in a database.
package struct SQLAccountStore: AccountStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) {
    self.database = database
  }

  package func signUp(_ newcomer: AnonymousSignUp) async throws -> OpenSession {
    let open = newcomer.newcomer
    let (user, session) = (open.user, open.session)
    return try await database.accountStep { transaction in
      guard try await UserRows.insert(user, transaction) else {
        throw DatabaseError.constraint(.unique, "users.id")
      }
      try AccountSessionRows.insert(session, transaction)
      try AuditRows.write(
        .userSignedUp, by: newcomer.origin, user: user.id, session: session.id, reason: "anonymous",
        now: newcomer.now, transaction
      )
      try EventRows.insert(
        .created(user, session: session.id, by: "anonymous", now: newcomer.now), transaction)
      return open
    }
  }

  package func signIn(_ signIn: IdentitySignIn) async throws -> Result<OpenSession, SignInRefusal> {
    try await refusable(.login, by: signIn.origin, signIn, now: signIn.now, signIn.expectation) {
      try await SignInStep(signIn: signIn, transaction: $0).run()
    }
  }

  package func link(_ link: IdentityLink) async throws -> Result<OpenSession, SignInRefusal> {
    try await refusable(
      .identityLinked, by: link.signIn.origin, link.signIn, bearer: link.bearer, now: link.signIn.now,
      link.signIn.expectation
    ) {
      try await LinkStep(signIn: link.signIn, bearer: link.bearer, transaction: $0).link(link)
    }
  }

  package func reauthenticate(
    _ signIn: IdentitySignIn, bearer: UUID
  ) async throws -> Result<OpenSession, SignInRefusal> {
    try await refusable(
      .login, by: signIn.origin, signIn, bearer: bearer, now: signIn.now, signIn.expectation
    ) {
      try await LinkStep(signIn: signIn, bearer: bearer, transaction: $0).reauthenticate()
    }
  }

  package func `switch`(_ change: AccountSwitch) async throws -> Result<OpenSession, SignInRefusal> {
    try await refusable(
      .login, by: change.origin, bearer: change.bearer, now: change.now, change.expectation
    ) {
      try await SwitchStep(change: change, transaction: $0).run()
    }
  }

  package func leave(_ said: LeavingWord) async throws -> Result<Deletion?, SignInRefusal> {
    try await database.accountStep { transaction in
      do {
        return .success(try await LeavingStep(said: said, transaction: transaction).run())
      } catch let refusal as SignInRefusal {
        return .failure(refusal)
      }
    }
  }

  package func refresh(_ refresh: Refresh) async throws -> RefreshOutcome {
    try await database.accountStep { transaction in
      try await transaction.expecting(refresh.expectation, changed: RefreshOutcome.refused(.changed)) {
        try await RefreshStep(refresh: refresh, transaction: transaction).run()
      }
    }
  }

  package func session(_ id: UUID, now: Int64) async throws -> OpenSession? {
    let seen = try await database.read { try await AccountSessionRows.open(id, locked: false, $0) }
    guard var open = seen, open.session.acknowledgedAt == nil else { return seen }
    try await database.accountStep { transaction in
      try transaction.enqueue(
        "update sessions set acknowledged_at = $2 where id = $1 and acknowledged_at is null",
        [SQLValue(id), .integer(now)])
    }
    open.session.acknowledgedAt = now
    return open
  }

  package func signOut(
    _ session: UUID, _ scope: SignOutScope, by origin: RequestOrigin, now: Int64
  ) async throws -> Bool {
    try await database.accountStep { transaction in
      guard let owner = try await AccountSessionRows.userID(session, transaction),
        try await !UserRows.lock([owner], transaction).isEmpty,
        try await AccountSessionRows.locked(session, of: owner, transaction) != nil
      else { return false }
      switch scope {
      case .global:
        try await transaction.execute("delete from sessions where user_id = $1", [SQLValue(owner)])
      case .local: try await AccountSessionRows.end(session, of: owner, transaction)
      case .others: try await AccountSessionRows.endOthers(session, of: owner, transaction)
      }
      try AuditRows.write(
        .logout, by: origin, user: owner, session: session, reason: scope.rawValue, now: now, transaction)
      return true
    }
  }

  /// A refusal is an answer, not a failure of the database: nothing is begun anew for it.
  private func refusable(
    _ action: AuditAction, by origin: RequestOrigin, _ signIn: IdentitySignIn? = nil, bearer: UUID? = nil,
    now: Int64, _ expectation: StepExpectation,
    _ body: @escaping @Sendable (Transaction) async throws -> OpenSession
  ) async throws -> Result<OpenSession, SignInRefusal> {
    try await database.accountStep { transaction in
      try await transaction.expecting(expectation, changed: .failure(.changed)) {
        let refusal: SignInRefusal
        do {
          return .success(try await body(transaction))
        } catch let thrown as SignInRefusal {
          refusal = thrown
        } catch is LinkStep.SwitchOffered {
          refusal = .linkedToAnotherUser
        }
        try await AuditRows.note(refusal, action, by: origin, signIn, bearer: bearer, now: now, transaction)
        return .failure(refusal)
      }
    }
  }
}
