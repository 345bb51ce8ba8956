package import Encodings

/// An event of a verified notification of Apple. Times are milliseconds since 1970.
package struct AppleEvent: Sendable, Equatable {
  /// What it is about.
  package enum Kind: Sendable {
    case consentRevoked
    case accountDeleted
    case emailEnabled
    case emailDisabled
    /// A type that is not known: kept, and nothing else.
    case unknown
  }

  /// `jti`, with a number behind it from the second event of a notification on.
  package var id: String
  /// As Apple spells it.
  package var type: String
  package var teamID: String
  /// Empty where an event of an unknown type has none.
  package var subject: String
  /// `event_time`.
  package var time: Int64

  package init(id: String, type: String, teamID: String, subject: String, time: Int64) {
    self.id = id
    self.type = type
    self.teamID = teamID
    self.subject = subject
    self.time = time
  }

  package var kind: Kind {
    switch type {
    case "consent-revoked": .consentRevoked
    case "account-delete", "account-deleted": .accountDeleted
    case "email-enabled": .emailEnabled
    case "email-disabled": .emailDisabled
    default: .unknown
    }
  }
}

/// What came of an event.
package enum AppleEventOutcome: String, Sendable, CaseIterable {
  /// The identity is revoked, its tokens are forgotten, and its user's sessions ended.
  case revoked
  /// Mail to the relay address is forwarded now, or not any more.
  case forwarding
  /// Something newer is known: a sign-in, or another word about forwarding.
  case stale
  /// The subject has no identity here.
  case unknownSubject = "unknown_subject"
  /// This server ended the consent itself (RULES §2.4).
  case ownRevocation = "own_revocation"
  /// A deletion was told, and Apple still honours a refresh token (RULES §2.4).
  case contradicted
  /// A deletion was told, and the operator wants to look at those.
  case recorded
  case unknownType = "unknown_type"
  /// The identity left its user, who has another one; their sessions ended.
  case unlinked
  /// The account is being deleted; its sessions ended before.
  case deleting
}

/// What applying an event came to.
package struct AppleEventResult: Sendable, Equatable {
  package var outcome: AppleEventOutcome
  /// Whose identity it is about.
  package var user: UUID?

  package init(_ outcome: AppleEventOutcome, user: UUID? = nil) {
    self.outcome = outcome
    self.user = user
  }
}

/// What the operator decided.
package struct AppleEventPolicy: Sendable, Equatable {
  /// What is done when the user withdraws consent.
  package enum ConsentWithdrawal: String, Sendable, CaseIterable {
    /// The identity is marked and the sessions end; the same Apple Account comes back to the account.
    case revoke
    /// The identity leaves the account, where that has another one; else as ``revoke``, for nobody could come back.
    case unlink
    /// The account is deleted, where it has no other identity; else as ``unlink``.
    case delete
  }

  /// What is done when the user deleted the Apple account.
  package enum AccountDeletion: String, Sendable, CaseIterable {
    /// The account is deleted, where it has no other identity; else that one leaves it.
    case delete
    /// As when consent is withdrawn; the account and its data stay.
    case revoke
    /// Nothing but the record of it, and an alarm.
    case record
  }

  package var onConsentRevoked: ConsentWithdrawal
  package var onAccountDeleted: AccountDeletion

  package init(
    onConsentRevoked: ConsentWithdrawal = .revoke, onAccountDeleted: AccountDeletion = .revoke
  ) {
    self.onConsentRevoked = onConsentRevoked
    self.onAccountDeleted = onAccountDeleted
  }

  /// Whether an event of that kind may delete an account: then Apple is asked first (RULES §2.4).
  package func mayDelete(_ kind: AppleEvent.Kind) -> Bool {
    switch kind {
    case .consentRevoked: onConsentRevoked == .delete
    case .accountDeleted: true
    case .emailEnabled, .emailDisabled, .unknown: false
    }
  }
}
