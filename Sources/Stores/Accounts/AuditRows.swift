import Encodings
import SQL

/// The log of every act that matters to an account's safety, written in the transaction of the act.
enum AuditRows {
  /// In Supabase's words.
  enum Action: String {
    case userSignedUp = "user_signedup"
    case login
    case logout
    case identityLinked = "identity_linked"
    case identityUnlinked = "identity_unlinked"
    case identityRevoked = "identity_revoked"
    /// Told by Apple, and not acted upon.
    case appleAccountDeleted = "apple_account_deleted"
    case emailForwardingChanged = "email_forwarding_changed"
    case tokenRevoked = "token_revoked"
    case sessionMoved = "session_moved"
    case userModified = "user_modified"
    case userBanned = "user_banned"
    case userUnbanned = "user_unbanned"
    case userDeleted = "user_deleted"
  }

  /// - Parameter reason: in the words of this program, without values of the user.
  static func write(
    _ action: Action, user: UUID?, session: UUID? = nil, reason: String? = nil, now: Int64,
    _ transaction: Transaction
  ) throws {
    try transaction.enqueue(
      "insert into audit_log (time, action, user_id, session, reason) values ($1, $2, $3, $4, $5)",
      [.integer(now), .text(action.rawValue), SQLValue(user), SQLValue(session), SQLValue(reason)])
  }
}
