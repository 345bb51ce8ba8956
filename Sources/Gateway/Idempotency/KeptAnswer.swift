/// What a request with an `Idempotency-Key` claims before it is done (RULES §5.8).
package struct AnswerClaim: Sendable, Equatable {
  /// Whose request it is, to what, and under which key: 32 octets that tell nothing of them.
  package var id: [UInt8]
  /// SHA-256 of its body.
  package var bodyHash: [UInt8]
  /// The run that claims: 16 octets.
  package var run: [UInt8]
  /// The user with whose account the answer goes, 16 octets.
  package var user: [UInt8]?

  package init(id: [UInt8], bodyHash: [UInt8], run: [UInt8], user: [UInt8]?) {
    self.id = id
    self.bodyHash = bodyHash
    self.run = run
    self.user = user
  }
}

/// How it stands with a claim.
package enum AnswerState: Sendable, Equatable {
  /// Nobody has claimed it, or whoever had took it back: only ``KeptAnswerStore/state(_:now:)`` says so.
  case free
  /// It is the caller's now.
  case claimed
  /// That run does it.
  case running(run: [UInt8])
  /// Done: the answer as it was sealed.
  case kept([UInt8])
  /// That run began it, and its answer was not kept whole.
  case incomplete(run: [UInt8])
  /// It was claimed for another body.
  case mismatched
}

/// Answers that are kept for a repeated request. Each method is one atomic step.
///
/// A run holds its claim by a lease; one whose lease is over died, and what it did is ``AnswerState/incomplete``.
/// Everything is forgotten when its time is over, and with the user's account. Milliseconds.
package protocol KeptAnswerStore: Sendable {
  /// Takes the claim where nobody has it, else says how it stands. `life` is how long it is remembered.
  func claim(_ claim: AnswerClaim, lease: Int64, life: Int64, now: Int64) async throws -> AnswerState
  /// How it stands with a claim.
  func state(_ id: [UInt8], now: Int64) async throws -> AnswerState
  /// Has the run's lease last for `lease` from now on; false where the claim is not the run's.
  func renew(_ id: [UInt8], run: [UInt8], lease: Int64, life: Int64, now: Int64) async throws -> Bool
  /// Ends the run with its sealed answer; nil says that it was not whole. False where the claim is not the run's.
  func finish(_ id: [UInt8], run: [UInt8], sealed: [UInt8]?, life: Int64, now: Int64) async throws -> Bool
  /// Takes the claim back: nothing was done that counts.
  func withdraw(_ id: [UInt8], run: [UInt8]) async throws
  /// Forgets what is over; how many.
  func sweep(now: Int64) async throws -> Int
  /// The key, and the user if there is one, that a live session token of that hash is of.
  func holder(ofSession hash: [UInt8], now: Int64) async throws -> (keyID: [UInt8], userID: String?)?
}
