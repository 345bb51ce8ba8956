import Accounts
import Encodings
import SQL

/// Rows of identity tokens that were used, of challenges, and of what Apple told (RULES §2.1, §2.3, §3.6).
enum IdentityTokenRows {
  /// A token of a browser's flow is used by a code of ours, which may outlive it: milliseconds, longer than any.
  private static let codeLife: Int64 = 600_000

  /// The names under which nobody else signs in or links meanwhile: the subjects, and the address.
  static func names(_ assertion: IdentityAssertion) -> [String] {
    var names = ["subject \(assertion.provider) \(assertion.subject)"]
    if let former = assertion.transferSubject { names.append("subject \(assertion.provider) \(former)") }
    if let email = Profile.address(assertion) { names.append(address(email)) }
    return names
  }

  static func address(_ email: String) -> String { "address \(email)" }

  static func facts(_ assertion: IdentityAssertion, _ transaction: Transaction) async throws -> TokenFacts {
    let used = try await transaction.first(
      "select use, request_hash, session, bearer, used_at from used_identity_tokens where hash = $1",
      [.blob(assertion.tokenHash)]
    ) {
      UsedToken(
        use: UsedToken.Use(rawValue: $0.int64(0)) ?? .signIn, requestHash: $0.bytes(1),
        session: try $0.optionalUUID(2), bearer: try $0.optionalUUID(3), usedAt: $0.int64(4))
    }
    return TokenFacts(
      used: used, opened: try await AccountSessionRows.session(used?.session, transaction),
      challenge: try await challenge(assertion.challengeHash, transaction),
      revokedAt: try await revocation(teamID: assertion.teamID, subject: assertion.subject, transaction))
  }

  /// When consent last ended by Apple's word (RULES §2.3); nil where it never did.
  static func revocation(teamID: String, subject: String, _ transaction: Transaction) async throws -> Int64? {
    try await transaction.first(
      """
      select max(event_time) from apple_events where team_id = $1 and subject = $2
        and type in ('consent-revoked', 'account-delete', 'account-deleted')
        and (outcome is null or outcome <> 'own_revocation')
      """, [.text(teamID), .text(subject)]
    ) { $0.optionalInt64(0) } ?? nil
  }

  private static func challenge(
    _ hash: [UInt8]?, _ transaction: Transaction
  ) async throws -> AppleChallenge? {
    guard let hash else { return nil }
    return try await transaction.first(
      "select purpose, client_id, session, expires_at from apple_challenges where hash = $1", [.blob(hash)]
    ) { row in
      guard let purpose = ChallengePurpose(rawValue: row.string(0)) else { return nil }
      return AppleChallenge(
        hash: hash, purpose: purpose, clientID: row.optionalString(1), session: try row.optionalUUID(2),
        expiresAt: row.int64(3))
    } ?? nil
  }

  /// Consumes the token, and the challenge that it answers.
  static func consume(
    _ assertion: IdentityAssertion, _ facts: TokenFacts, _ use: UsedToken.Use, session: UUID?,
    bearer: UUID? = nil, now: Int64, _ transaction: Transaction
  ) async throws {
    try transaction.enqueue(
      """
      insert into used_identity_tokens (hash, use, request_hash, session, bearer, used_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7)
      on conflict (hash) do update set use = excluded.use, request_hash = excluded.request_hash,
        session = excluded.session, bearer = excluded.bearer, used_at = excluded.used_at
      """,
      [
        .blob(assertion.tokenHash), .integer(use.rawValue), .blob(assertion.requestHash),
        SQLValue(session), SQLValue(bearer), .integer(now),
        .integer(max(assertion.expiresAt, now + codeLife)),
      ])
    guard let challenge = facts.challenge else { return }
    let consumed = try await transaction.execute(
      "delete from apple_challenges where hash = $1", [.blob(challenge.hash)])
    // Another token that answers it was faster: this step is begun anew, and finds none.
    if consumed == 0 { throw DatabaseError.conflict }
  }
}
