package import Encodings

/// Something that the app's own backend is told of, once the change it tells of is committed. Its data carries ids,
/// never a token, and nothing that is secret.
package struct OutgoingEvent: Sendable, Equatable {
  /// What happened, in the words of the wire (`type` in Standard Webhooks).
  package enum Kind: String, Sendable, CaseIterable {
    case userCreated = "user.created"
    case userSignedIn = "user.signed_in"
    case userLinked = "user.linked"
    case userUnlinked = "user.unlinked"
    case userSwitched = "user.switched"
    case userReauthenticated = "user.reauthenticated"
    case emailForwardingChanged = "user.email_forwarding_changed"
    case consentRevoked = "user.consent_revoked"
    case userDeleted = "user.deleted"
    /// A refresh token came back that was replaced before (RULES §3.5).
    case refreshTokenReused = "session.refresh_token_reused"
    case quotaReached = "quota.reached"
    case budgetReached = "budget.reached"
  }

  package var kind: Kind
  /// Whom it is about; what is stored of their address is erased when they go.
  package var user: UUID?
  /// More members of `data`, after `user_id`.
  package var members: [(String, JSONValue)]
  /// How the user may be reached, where the event tells it.
  package var contact: MailContact?
  /// When it happened, milliseconds since 1970.
  package var time: Int64

  package init(
    _ kind: Kind, user: UUID?, _ members: [(String, JSONValue)] = [], contact: MailContact? = nil,
    time: Int64
  ) {
    self.kind = kind
    self.user = user
    self.members = members
    self.contact = contact
    self.time = time
  }

  /// An event about a user, with how they may be reached.
  package init(_ kind: Kind, _ user: User, _ members: [(String, JSONValue)] = [], time: Int64) {
    self.init(kind, user: user.id, members, contact: MailContact(user), time: time)
  }

  /// `data` without the contact, which is kept apart so that it can be erased.
  package var data: JSONValue {
    .object((user.map { [("user_id", .string($0.description))] } ?? []) + members)
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.kind == right.kind && left.data == right.data && left.contact == right.contact
      && left.time == right.time
  }
}
