package import Encodings

/// The deletion of an account as it is kept, and after its end the tombstone, which holds neither a subject nor an
/// address (RULES §4.2). Times are milliseconds since 1970.
package struct Deletion: Sendable, Equatable {
  /// When Apple is asked to end the consent.
  package enum Policy: String, Sendable, CaseIterable {
    /// Before the account goes; Apple failing leaves everything as it was.
    case required
    /// Afterwards, as often as it takes.
    case eventual
  }

  /// How far it came (RULES §4.1).
  package enum State: Int64, Sendable, CaseIterable {
    /// The account is marked, and nothing else happened: it can still be kept.
    case open = 0
    /// A consent was ended at Apple, or data of the user is gone: from here on it only goes forward.
    case committed = 1
    /// Apple failed before anything happened: the mark is cleared, and the deletion may be asked for again.
    case kept = 2
    /// The account is gone. Revocations and data that failed may be left.
    case deleted = 3

    /// Whether the account is marked.
    package var isRunning: Bool { self == .open || self == .committed }
  }

  /// The row.
  package var id: Int64
  package var operation: OperationID
  package var user: UUID
  /// Who asked.
  package var actor: RequestOrigin.Actor
  package var policy: Policy
  /// Why, in this program's words, where neither the user nor an operator asked for it.
  package var reason: String?
  package var state: State
  /// Apple's tokens that are not revoked.
  package var tokens: [DeletionToken]
  /// Names of what is owned by the user (``OwnedData``) and not erased.
  package var owed: [String]
  /// How many identities the user had.
  package var identities: Int64
  /// How many of Apple's tokens were revoked, and how many were dropped since the person came back before
  /// (RULES §2.4).
  package var revoked: Int64
  package var superseded: Int64
  /// Rounds that ended with something left.
  package var attempts: Int64
  /// When the next round is due. While a round runs nobody else begins one before this.
  package var nextTry: Int64
  /// What kept the last round from its end, in this program's words.
  package var failure: String?
  package var createdAt: Int64
  package var updatedAt: Int64
  /// When the account was gone, or kept.
  package var closedAt: Int64?

  package init(
    id: Int64 = 0, operation: OperationID, user: UUID, actor: RequestOrigin.Actor, policy: Policy,
    reason: String? = nil, state: State = .open,
    tokens: [DeletionToken] = [], owed: [String] = [], identities: Int64 = 0, revoked: Int64 = 0,
    superseded: Int64 = 0, attempts: Int64 = 0, nextTry: Int64, failure: String? = nil, createdAt: Int64,
    updatedAt: Int64, closedAt: Int64? = nil
  ) {
    self.id = id
    self.operation = operation
    self.user = user
    self.actor = actor
    self.policy = policy
    self.reason = reason
    self.state = state
    self.tokens = tokens
    self.owed = owed
    self.identities = identities
    self.revoked = revoked
    self.superseded = superseded
    self.attempts = attempts
    self.nextTry = nextTry
    self.failure = failure
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.closedAt = closedAt
  }

  /// Tokens that are still to be tried.
  package var waiting: [DeletionToken] { tokens.filter { !$0.isDead } }

  /// Whether a further round has something to do.
  package var isUnfinished: Bool {
    state.isRunning || state == .deleted && (!waiting.isEmpty || !owed.isEmpty)
  }
}

/// A refresh token of Apple's that a deletion has to revoke.
package struct DeletionToken: Sendable, Equatable {
  /// The row; 0 for one that is not stored yet.
  package var id: Int64
  package var token: SealedAppleToken
  /// Whether it was given up: nothing opens it, or Apple refused it for a day. An operator may have it tried again.
  package var isDead: Bool

  package init(id: Int64 = 0, _ token: SealedAppleToken, isDead: Bool = false) {
    self.id = id
    self.token = token
    // It is no row of those that are checked any more.
    self.token.id = 0
    self.token.nextCheck = 0
    self.isDead = isDead
  }
}

/// What came of the consents at Apple.
package enum RevocationSummary: String, Sendable, CaseIterable {
  /// There was none.
  case none
  /// All of them are ended.
  case revoked
  /// They are being ended.
  case queued
  /// At least one is left: its user ends it in Apple's settings.
  case byHand = "by_hand"
}

extension Deletion {
  /// What a user is told of the consents at Apple.
  package var revocation: RevocationSummary {
    if !waiting.isEmpty { return .queued }
    if !tokens.isEmpty { return .byHand }
    if revoked + superseded > 0 { return .revoked }
    return identities > 0 ? .byHand : .none
  }
}
