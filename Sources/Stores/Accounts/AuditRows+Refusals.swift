import Accounts
import Encodings
import SQL

extension AuditRows {
  /// How long the same refusal of the same user is written once, milliseconds: whoever repeats a token that is used up
  /// cannot fill the disk.
  private static let quiet: Int64 = 60_000

  /// Notes that a sign-in, a link or a switch was refused, where it is about a user: the bearer's, else the identity's.
  static func note(
    _ refusal: SignInRefusal, _ action: AuditAction, by origin: RequestOrigin, _ signIn: IdentitySignIn?,
    bearer: UUID?, now: Int64, _ transaction: Transaction
  ) async throws {
    var user: UUID?
    if let bearer { user = try await AccountSessionRows.userID(bearer, transaction) }
    if user == nil, let signIn { user = try await SignInStep.identity(signIn.assertion, transaction)?.userID }
    guard let user else { return }
    let known = try await transaction.first(
      """
      select 1 from audit_log where user_id = $1 and action = $2 and result = $3 and reason = $4
        and time > $5 and time <= $6 limit 1
      """,
      [
        SQLValue(user), .text(action.rawValue), .text(AuditResult.refused.rawValue), .text(refusal.reason),
        .integer(now - quiet), .integer(now),
      ]
    ) { _ in true }
    guard known == nil else { return }
    try write(
      action, by: origin, user: user, session: bearer, result: .refused, reason: refusal.reason, now: now,
      transaction)
  }
}

extension SignInRefusal {
  fileprivate var reason: String {
    switch self {
    case .tokenUsed: "token used before"
    case .challengeInvalid: "challenge or ticket invalid"
    case .consentRevoked: "consent revoked"
    case .banned: "banned"
    case .deleting: "being deleted"
    case .signUpDisabled: "sign-ups disabled"
    case .sessionNotFound: "session gone"
    case .alreadyLinked: "linked already"
    case .linkedToAnotherUser: "linked to another user"
    case .tooManyIdentities: "too many identities"
    case .emailTaken: "address taken"
    case .stepUpRequired: "step-up required"
    case .userMismatch: "another user's identity"
    case .changed: "changed meanwhile"
    case .nothingLeftBehind: "nobody left behind"
    case .discardBlocked: "a table keeps the user who was to be discarded"
    }
  }
}
