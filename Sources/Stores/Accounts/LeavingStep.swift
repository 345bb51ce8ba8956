import Accounts
import Encodings
import SQL

/// What the session that a switch ticket opened says of who was left behind (RULES §3.7).
struct LeavingStep {
  let said: LeavingWord
  let transaction: Transaction

  /// The deletion that it began, where somebody is discarded.
  func run() async throws -> Deletion? {
    let word: LeftBehind
    var leaving: Deletion?
    switch try LeavingRule.decide(said, try await load()) {
    case .again: return nil
    case .keep: word = .keep
    case .discard(let user):
      word = .discard
      // Before anything is written: a refusal leaves no trace.
      leaving = try await begin(user)
    }
    try LeftUserRows.note(word, leftBy: said.session, transaction)
    // Where nothing is to be erased first, at once.
    if let begun = leaving, begun.owed.isEmpty {
      leaving = try await FinishDeletionStep(id: begun.id, now: said.now, transaction: transaction).run()
    }
    return leaving
  }

  /// Begins the deletion of the user who is left for good.
  private func begin(_ user: UUID) async throws -> Deletion {
    let request = DeletionRequest(
      user: user, operation: try await DeletionRows.freshName(transaction), origin: said.origin,
      policy: .eventual, proof: .none, reason: "discarded", owned: said.owned, lease: said.now,
      now: said.now)
    do {
      return try await BeginDeletionStep(request: request, transaction: transaction).run().deletion
    } catch DeletionRefusal.blocked(let what) {
      throw SignInRefusal.discardBlocked(what: what)
    }
  }

  private func load() async throws -> LeavingRule.Facts {
    let owner = try await AccountSessionRows.userID(said.session, transaction)
    let left = try await LeftUserRows.leftUser(by: said.session, locked: false, transaction)
    let users = try await UserRows.lock([owner, left?.user].compactMap { $0 }, transaction)
    var bearer: OpenSession?
    if let user = users.first(where: { $0.id == owner }),
      let session = try await AccountSessionRows.locked(said.session, of: user.id, transaction)
    {
      bearer = OpenSession(user: user, session: session)
    }
    let again = try await LeftUserRows.leftUser(by: said.session, locked: true, transaction)
    var isKept = false
    if let left { isKept = try await LeftUserRows.isKept(left.user, transaction) }
    return LeavingRule.Facts(
      bearer: bearer, left: again, isKept: isKept,
      user: users.first { $0.id == left?.user })
  }
}

/// Rows of those who were left behind. They are locked after users and sessions.
enum LeftUserRows {
  static func leftUser(
    by session: UUID, locked: Bool, _ transaction: Transaction
  ) async throws -> LeftUser? {
    try await transaction.first(
      "select user_id, word from left_users where session = $1\(locked ? transaction.locking : "")",
      [SQLValue(session)]
    ) { LeftUser(user: try $0.uuid(0), word: $0.optionalString(1).flatMap { LeftBehind(rawValue: $0) }) }
  }

  /// Under the lock of the user, which whoever says a word holds.
  static func isKept(_ user: UUID, _ transaction: Transaction) async throws -> Bool {
    try await transaction.first(
      "select 1 from left_users where user_id = $1 and word = $2 limit 1",
      [SQLValue(user), .text(LeftBehind.keep.rawValue)]
    ) { _ in true } ?? false
  }

  static func insert(_ user: UUID, leftBy session: UUID, _ transaction: Transaction) throws {
    try transaction.enqueue(
      "insert into left_users (session, user_id) values ($1, $2)", [SQLValue(session), SQLValue(user)])
  }

  static func note(_ word: LeftBehind, leftBy session: UUID, _ transaction: Transaction) throws {
    try transaction.enqueue(
      "update left_users set word = $2 where session = $1", [SQLValue(session), .text(word.rawValue)])
  }
}
