import Accounts
import Encodings
import SQL

/// Step 0 of a deletion (RULES §4.1).
struct BeginDeletionStep {
  let request: DeletionRequest
  let transaction: Transaction

  func run() async throws -> DeletionBeginning {
    let user = try await UserRows.user(request.user, locked: true, transaction)
    let facts = DeletionRule.Facts(
      user: user, session: try await session(of: user), seenAt: try await seenAt(user),
      named: try await DeletionRows.deletion(.operation(request.operation), locked: true, transaction),
      last: try await DeletionRows.deletion(.user(request.user), transaction),
      tokens: try await SQLAppleTokenStore.tokens("i.user_id = $1", [SQLValue(request.user)], transaction))
    switch try DeletionRule.decide(request, facts) {
    case .known(let deletion):
      try await DeletionRows.name(deletion, request.operation, transaction)
      return .known(deletion)
    case .begin(let deletion):
      // Before anything is written: a refusal leaves no trace.
      if let refusal = try await Self.trial(request.user, transaction) { throw refusal }
      if let fresh = request.fresh { try await SQLAppleTokenStore.keep(fresh, now: request.now, transaction) }
      try await transaction.execute(
        "update users set deleting_since = $2 where id = $1",
        [SQLValue(request.user), .integer(request.now)])
      try UserRows.endDeviceTokens(of: request.user, transaction)
      try AuditRows.write(
        .userDeletionBegun, by: request.origin, user: request.user, now: request.now, transaction)
      return .begun(try await DeletionRows.write(deletion, transaction))
    }
  }

  private func session(of user: User?) async throws -> Session? {
    guard let user, case .session(let id, _) = request.proof else { return nil }
    return try await AccountSessionRows.locked(id, of: user.id, transaction)
  }

  /// The sessions are locked before they are looked at: a refresh locks its session alone, and may be on its way.
  private func seenAt(_ user: User?) async throws -> Int64? {
    guard let user, case .idle = request.proof else { return nil }
    return try await transaction.rows(
      "select refreshed_at from sessions where user_id = $1 order by id\(transaction.locking)",
      [SQLValue(user.id)]
    ) { $0.int64(0) }.max()
  }

  /// Deletes the user and takes that back: whether a table of the app's refuses, and what the database says of it.
  private static func trial(_ user: UUID, _ transaction: Transaction) async throws -> DeletionRefusal? {
    try await transaction.execute("savepoint trial_deletion")
    var refusal: DeletionRefusal?
    do throws(DatabaseError) {
      try await transaction.execute("delete from users where id = $1", [SQLValue(user)])
      // What a table would refuse no sooner than at the commit.
      if transaction.dialect == .postgreSQL { try await transaction.execute("set constraints all immediate") }
    } catch {
      guard let blocked = DeletionRefusal(error) else { throw error }
      refusal = blocked
    }
    try await transaction.execute("rollback to savepoint trial_deletion")
    try await transaction.execute("release savepoint trial_deletion")
    return refusal
  }
}

extension DeletionRefusal {
  /// Where the error says that a table, or what is attached to one, does not let the user go.
  init?(_ error: DatabaseError) {
    switch error {
    case .constraint, .failed: self = .blocked(what: error.description)
    default: return nil
    }
  }
}
