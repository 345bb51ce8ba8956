/// What a deletion's steps make of its row (RULES §2.4, §4.1, §4.2).
package enum DeletionRule {
  /// After so many rounds, about a day, Apple's tokens are given up.
  package static let attemptLimit: Int64 = 12
  /// How long the state can be asked for, milliseconds (RULES §4.2).
  package static let memory: Int64 = 30 * 86_400_000
  /// How long a tombstone with something left is kept at most, milliseconds.
  package static let longMemory: Int64 = 90 * 86_400_000

  /// No next try is further off than that, milliseconds: one that is was written while the clock ran ahead.
  package static let longestDelay: Int64 = 28_800_000

  package struct Facts: Sendable, Equatable {
    package var user: User?
    /// The session of the proof, where it lives.
    package var session: Session?
    /// When the user's sessions were last refreshed, where the proof is that nothing was seen of them.
    package var seenAt: Int64?
    /// What the operation id names.
    package var named: Deletion?
    /// The user's last deletion.
    package var last: Deletion?
    /// Every token of Apple's that is kept for the user.
    package var tokens: [SealedAppleToken]

    package init(
      user: User?, session: Session?, seenAt: Int64? = nil, named: Deletion?, last: Deletion?,
      tokens: [SealedAppleToken]
    ) {
      self.user = user
      self.session = session
      self.seenAt = seenAt
      self.named = named
      self.last = last
      self.tokens = tokens
    }
  }

  package enum Decision: Sendable, Equatable {
    /// To be tried, and then written: in the place of the row that its id names, if it has one.
    case begin(Deletion)
    /// Nothing is begun; a further operation id may name it from now on.
    case known(Deletion)
  }

  package static func decide(
    _ request: DeletionRequest, _ facts: Facts
  ) throws(DeletionRefusal) -> Decision {
    if let named = facts.named {
      guard named.user == request.user else { throw .operationTaken }
      if named.state != .kept { return .known(named) }
    }
    guard let user = facts.user else { throw .userNotFound }
    try prove(request, user, facts)
    if user.deletingSince != nil, let last = facts.last, last.state.isRunning { return .known(last) }
    if let fresh = request.fresh, !user.identities.contains(where: { fresh.isOf($0) }) {
      throw .appleAccountMismatch
    }
    var tokens = facts.tokens
    if let fresh = request.fresh { tokens.append(fresh) }
    return .begin(
      Deletion(
        id: facts.named?.id ?? 0,
        // By a further name it is found among those, and whoever has its first one must find it still.
        operation: facts.named?.operation ?? request.operation, user: user.id, actor: request.origin.actor,
        policy: request.policy, reason: request.reason, tokens: tokens.map { DeletionToken($0) },
        owed: request.owned, identities: Int64(user.identities.count), nextTry: request.lease,
        createdAt: facts.named?.createdAt ?? request.now, updatedAt: request.now))
  }

  private static func prove(
    _ request: DeletionRequest, _ user: User, _ facts: Facts
  ) throws(DeletionRefusal) {
    switch request.proof {
    case .none: return
    case .idle(let cutoff):
      guard user.isAnonymous, user.identities.isEmpty, user.deletingSince == nil, user.createdAt < cutoff,
        user.updatedAt < cutoff, facts.seenAt.map({ $0 < cutoff }) ?? true
      else { throw .notIdle }
    case .session(let id, let maxAge):
      guard let session = facts.session, session.id == id, session.userID == user.id else {
        throw .sessionNotFound
      }
      if user.isBanned(at: request.now) { throw .banned }
      if !user.identities.isEmpty, !session.isFresh(maxAge: maxAge, now: request.now) {
        throw .stepUpRequired(maxAge: maxAge)
      }
    }
  }

  /// After Apple's answer about a token: one that ended a consent commits the deletion.
  package static func recorded(
    _ deletion: Deletion, token: Int64, _ result: RevocationResult, lease: Int64, now: Int64
  ) -> Deletion {
    guard let place = deletion.tokens.firstIndex(where: { $0.id == token }) else { return deletion }
    var next = deletion
    next.updatedAt = now
    next.nextTry = max(next.nextTry, lease)
    switch result {
    case .revoked:
      next.tokens.remove(at: place)
      next.revoked += 1
      if next.state == .open { next.state = .committed }
    case .unusable: next.tokens[place].isDead = true
    }
    return next
  }

  /// After it turned out that the person has an account again: consents that are newer than the deletion are not
  /// ended (RULES §2.4).
  package static func superseded(_ deletion: Deletion, tokens: [Int64], now: Int64) -> Deletion {
    guard deletion.state == .deleted else { return deletion }
    var next = deletion
    next.tokens.removeAll { tokens.contains($0.id) }
    next.superseded += Int64(deletion.tokens.count - next.tokens.count)
    next.updatedAt = now
    return next
  }

  /// After a sign-in that had begun before brought one more of Apple's tokens, when the account was gone already.
  package static func late(_ deletion: Deletion, _ token: SealedAppleToken, now: Int64) -> Deletion {
    guard deletion.state == .deleted else { return deletion }
    var next = deletion
    next.tokens.append(DeletionToken(token))
    next.attempts = 0
    next.nextTry = now
    next.updatedAt = now
    return next
  }

  /// After what was owned under that name is gone.
  package static func erased(_ deletion: Deletion, _ name: String, lease: Int64, now: Int64) -> Deletion {
    var next = deletion
    next.owed.removeAll { $0 == name }
    next.updatedAt = now
    next.nextTry = max(next.nextTry, lease)
    if next.state == .open { next.state = .committed }
    return next
  }

  /// After Apple failed: the account is kept where nothing happened to it yet.
  package static func kept(_ deletion: Deletion, _ failure: String, now: Int64) -> Deletion {
    guard deletion.state == .open else { return deletion }
    var next = deletion
    next.state = .kept
    next.tokens = []
    next.owed = []
    next.failure = failure
    next.updatedAt = now
    next.closedAt = now
    return next
  }

  /// After the user is gone. What is left is due at once.
  package static func finished(_ deletion: Deletion, now: Int64) -> Deletion {
    var next = deletion
    next.state = .deleted
    next.attempts = 0
    next.failure = nil
    next.nextTry = now
    next.updatedAt = now
    next.closedAt = now
    return next
  }

  /// After a round that ended with something left: later, and the longer the more often it was tried.
  package static func postponed(_ deletion: Deletion, _ failure: String, now: Int64) -> Deletion {
    var next = deletion
    next.attempts += 1
    next.failure = failure
    next.updatedAt = now
    next.nextTry = now + delay(next.attempts)
    guard next.attempts >= attemptLimit, !next.waiting.isEmpty else { return next }
    for place in next.tokens.indices { next.tokens[place].isDead = true }
    // The account does not wait any longer for Apple.
    if next.state.isRunning { next.nextTry = now }
    return next
  }

  /// An operator has it tried again: at once, and what was given up as well.
  package static func retried(_ deletion: Deletion, now: Int64) -> Deletion {
    var next = deletion
    for place in next.tokens.indices { next.tokens[place].isDead = false }
    next.attempts = 0
    next.nextTry = now
    next.updatedAt = now
    return next
  }

  /// Milliseconds before the round after so many: from a minute, doubling, to six hours.
  private static func delay(_ attempts: Int64) -> Int64 {
    min(60_000 << min(max(attempts, 1) - 1, 9), 21_600_000)
  }
}

/// What Apple said of a token to be revoked, where that settles it.
package enum RevocationResult: Sendable, Equatable {
  /// The consent is ended, or had ended before.
  case revoked
  /// Nothing opens it any more, so nobody can ask.
  case unusable
}

extension SealedAppleToken {
  /// Whether the identity is the one that consented.
  func isOf(_ identity: Identity) -> Bool {
    identity.provider == "apple" && identity.teamID == teamID && identity.subject == subject
  }
}
