import Accounts
import Encodings
import SQL

/// The end of a deletion: the user goes with everything that hangs on it, and the tombstone stays (RULES §4.1, §4.2).
struct FinishDeletionStep {
  let id: Int64
  let now: Int64
  let transaction: Transaction

  func run() async throws -> Deletion {
    guard let seen = try await DeletionRows.deletion(id, transaction) else {
      throw DeletionRefusal.userNotFound
    }
    let user = try await UserRows.user(seen.user, locked: true, transaction)
    guard var deletion = try await DeletionRows.deletion(id, locked: true, transaction) else {
      throw DeletionRefusal.userNotFound
    }
    guard deletion.state.isRunning else { return deletion }
    if let user {
      // What a sign-in of just before it began brought after that.
      let kept = try await SQLAppleTokenStore.tokens("i.user_id = $1", [SQLValue(user.id)], transaction)
      let unknown = kept.filter { kept in
        !deletion.tokens.contains { $0.token.sealed == kept.sealed && $0.token.clientID == kept.clientID }
      }
      deletion.tokens += unknown.map { DeletionToken($0) }
      // They may hold an identity that was to be the user's, with a consent, and hang on a session by name alone.
      let flows = "web_flows where linking in (select id from sessions where user_id = $1)"
      let waiting = try await transaction.rows("select assertion from \(flows)", [SQLValue(user.id)]) {
        $0.optionalString(0).flatMap { try? AssertionText.read($0) }?.token
      }
      // One whose link was made is among the account's.
      deletion.tokens += waiting.compactMap { $0 }.filter { token in
        !user.identities.contains { $0.teamID == token.teamID && $0.subject == token.subject }
      }.map { DeletionToken($0) }
      try await transaction.execute("delete from \(flows)", [SQLValue(user.id)])
      try await UserRows.delete(
        user.id, by: RequestOrigin(deletion.actor), reason: deletion.reason, now: now, transaction)
    }
    return try await DeletionRows.write(DeletionRule.finished(deletion, now: now), transaction)
  }
}
