package import Encodings

/// What is to become of the anonymous user that a switch left behind (RULES §3.7). They are kept where nothing is said.
package enum LeftBehind: String, Sendable, CaseIterable {
  case keep
  case discard
}

/// The word of the session that a switch ticket opened about the anonymous user who was left behind.
package struct LeavingWord: Sendable, Equatable {
  /// The session of the bearer.
  package var session: UUID
  package var word: LeftBehind
  /// Names of what may be owned by a user who is discarded (``OwnedData``).
  package var owned: [String]
  package var origin: RequestOrigin
  /// Milliseconds since 1970.
  package var now: Int64

  package init(
    session: UUID, word: LeftBehind, owned: [String] = [], origin: RequestOrigin = .user, now: Int64
  ) {
    self.session = session
    self.word = word
    self.owned = owned
    self.origin = origin
    self.now = now
  }
}

/// An anonymous user who was left behind at a switch, and what was said of them.
package struct LeftUser: Sendable, Equatable {
  package var user: UUID
  package var word: LeftBehind?

  package init(user: UUID, word: LeftBehind? = nil) {
    self.user = user
    self.word = word
  }
}

/// Who may say what becomes of somebody who was left behind (RULES §3.7): the session that the ticket opened alone, once,
/// of its own anonymous user, while that user is anonymous.
package enum LeavingRule {
  package struct Facts: Sendable, Equatable {
    /// The bearer's session and user, where they live.
    package var bearer: OpenSession?
    /// Whom the bearer's session left behind.
    package var left: LeftUser?
    /// Whether any session that left them behind said that they are kept.
    package var isKept: Bool
    /// That user, where they live.
    package var user: User?

    package init(bearer: OpenSession?, left: LeftUser?, isKept: Bool = false, user: User?) {
      self.bearer = bearer
      self.left = left
      self.isKept = isKept
      self.user = user
    }
  }

  package enum Decision: Sendable, Equatable {
    /// It was said before, and nothing is to be done.
    case again
    /// To be noted.
    case keep
    /// To be noted, and their deletion to be begun.
    case discard(UUID)
  }

  package static func decide(_ said: LeavingWord, _ facts: Facts) throws(SignInRefusal) -> Decision {
    guard let bearer = facts.bearer, bearer.session.id == said.session else { throw .sessionNotFound }
    try bearer.user.mayEnter(at: said.now)
    guard let left = facts.left, left.word == nil || left.word == said.word else { throw .nothingLeftBehind }
    if left.word == .keep { return .again }
    let user = facts.user.flatMap { $0.id == left.user ? $0 : nil }
    // Who was discarded is gone, or is going.
    if left.word == .discard, user?.deletingSince != nil || user == nil { return .again }
    // Nor is the bearer told of another's ban.
    guard let user, user.isAnonymous, user.identities.isEmpty, user.deletingSince == nil,
      !user.isBanned(at: said.now)
    else { throw .nothingLeftBehind }
    // Two sessions may have left the same user: the first word of any that they stay holds.
    if said.word == .discard, facts.isKept { throw .nothingLeftBehind }
    return said.word == .keep ? .keep : .discard(user.id)
  }
}
