package import Encodings

/// A deletion that is asked for. Times are milliseconds since 1970.
package struct DeletionRequest: Sendable, Equatable {
  /// What entitles whoever asks, looked at once more in the transaction that begins (RULES §4.1).
  package enum Proof: Sendable, Equatable {
    /// The session of the bearer, in which a user with an identity signed in no longer than so many seconds ago
    /// (RULES §3.2). Anonymous users prove the session alone.
    case session(UUID, maxAge: Int64)
    /// That nothing was seen of an anonymous user since then (RULES §3.10).
    case idle(since: Int64)
    /// Nothing to prove: an operator, or Apple.
    case none
  }

  package var user: UUID
  package var operation: OperationID
  package var origin: RequestOrigin
  package var policy: Deletion.Policy
  package var proof: Proof
  /// Why, in this program's words, where neither the user nor an operator asks for it.
  package var reason: String?
  /// What an authorization code was exchanged for just now: kept, and revoked with the others.
  package var fresh: SealedAppleToken?
  /// Names of what may be owned by the user.
  package var owned: [String]
  /// Until when whoever asks carries it out; `now` to leave it to the next who looks.
  package var lease: Int64
  package var now: Int64

  package init(
    user: UUID, operation: OperationID, origin: RequestOrigin, policy: Deletion.Policy, proof: Proof,
    reason: String? = nil, fresh: SealedAppleToken? = nil, owned: [String] = [], lease: Int64, now: Int64
  ) {
    self.user = user
    self.operation = operation
    self.origin = origin
    self.policy = policy
    self.proof = proof
    self.reason = reason
    self.fresh = fresh
    self.owned = owned
    self.lease = lease
    self.now = now
  }
}

/// What became of asking.
package enum DeletionBeginning: Sendable, Equatable {
  /// It is the caller's to carry out.
  case begun(Deletion)
  /// It was asked for before: it runs, or it is done.
  case known(Deletion)

  package var deletion: Deletion {
    switch self {
    case .begun(let deletion), .known(let deletion): deletion
    }
  }
}

/// Why nothing was begun, or the account could not be deleted. Nothing was changed.
package enum DeletionRefusal: Error, Sendable, Equatable {
  /// There is no such user.
  case userNotFound
  /// The bearer's session is gone.
  case sessionNotFound
  case banned
  /// The session's sign-in is older than so many seconds.
  case stepUpRequired(maxAge: Int64)
  /// What the authorization code was exchanged for is of an Apple Account that is not the user's.
  case appleAccountMismatch
  /// The operation id names a deletion of another user.
  case operationTaken
  /// Something was seen of a user who was to go for being idle.
  case notIdle
  /// A table of the app's refuses; `what` is the database's word of it, for the operator.
  case blocked(what: String)
}
