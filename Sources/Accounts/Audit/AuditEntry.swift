package import Encodings

/// An act that matters to somebody's safety; where Supabase has a word for it, that one.
package enum AuditAction: String, Sendable, CaseIterable {
  case userSignedUp = "user_signedup"
  case login
  case logout
  case identityLinked = "identity_linked"
  case identityUnlinked = "identity_unlinked"
  case identityRevoked = "identity_revoked"
  /// It is known by the name that it has under another team.
  case identityTransferred = "identity_transferred"
  /// Told by Apple, and not acted upon.
  case appleAccountDeleted = "apple_account_deleted"
  case emailForwardingChanged = "email_forwarding_changed"
  case tokenRevoked = "token_revoked"
  case sessionMoved = "session_moved"
  case userModified = "user_modified"
  case userBanned = "user_banned"
  case userUnbanned = "user_unbanned"
  case userDeletionBegun = "user_deletion_begun"
  /// Apple failed before anything happened.
  case userDeletionGivenUp = "user_deletion_given_up"
  case userDeleted = "user_deleted"
  case adminKeyCreated = "admin_key_created"
  case adminKeyRevoked = "admin_key_revoked"
  case debugTokenCreated = "debug_token_created"
  case debugTokenRevoked = "debug_token_revoked"
  /// An attestation was taken, or refused.
  case deviceKeyRegistered = "device_key_registered"
  case deviceKeyRevoked = "device_key_revoked"
  case deviceKeyBanned = "device_key_banned"
  case deviceKeyUnbanned = "device_key_unbanned"
  case signingKeyRotated = "signing_key_rotated"
  case modelReopened = "model_reopened"
}

/// What became of an act.
package enum AuditResult: String, Sendable, CaseIterable {
  case done
  case refused
}

/// A line of the audit log.
package struct AuditEntry: Sendable, Equatable {
  /// Counted up: lines are paged by it.
  package var id: Int64
  /// Milliseconds since 1970.
  package var time: Int64
  /// The word of an ``AuditAction``, or one that another version wrote.
  package var action: String
  package var result: AuditResult
  /// Who asked for it and from where; nil for a line that was written before that was kept.
  package var origin: RequestOrigin?
  /// Whose account it is about.
  package var user: UUID?
  package var session: UUID?
  /// In the words of this program.
  package var reason: String?

  package init(
    id: Int64, time: Int64, action: String, result: AuditResult, origin: RequestOrigin?, user: UUID? = nil,
    session: UUID? = nil, reason: String? = nil
  ) {
    self.id = id
    self.time = time
    self.action = action
    self.result = result
    self.origin = origin
    self.user = user
    self.session = session
    self.reason = reason
  }
}

/// Which lines are asked for; what is nil leaves nothing out.
package struct AuditFilter: Sendable, Equatable {
  package var user: UUID?
  package var action: String?
  /// The first instant, milliseconds since 1970.
  package var from: Int64?
  /// The first instant that is no more part of it.
  package var to: Int64?

  package init(user: UUID? = nil, action: String? = nil, from: Int64? = nil, to: Int64? = nil) {
    self.user = user
    self.action = action
    self.from = from
    self.to = to
  }
}
