package import Encodings

/// A refresh token that was presented and whose MAC holds (RULES §3.4).
package struct Refresh: Sendable, Equatable {
  package var session: UUID
  /// The number that the token carries.
  package var counter: Int64
  /// The key with whose assertion the request came; nil without one.
  package var keyID: [UInt8]?
  package var binding: RefreshBinding
  package var policy: SessionPolicy
  package var origin: RequestOrigin
  /// Milliseconds since 1970.
  package var now: Int64
  package var expectation = StepExpectation.anything

  package init(
    session: UUID, counter: Int64, keyID: [UInt8]? = nil, binding: RefreshBinding, policy: SessionPolicy,
    origin: RequestOrigin = .user, now: Int64
  ) {
    self.session = session
    self.counter = counter
    self.keyID = keyID
    self.binding = binding
    self.policy = policy
    self.origin = origin.with(device: keyID)
    self.now = now
  }
}

/// `bind_refresh` (RULES §3.5).
package enum RefreshBinding: String, Sendable, CaseIterable {
  case off
  /// Sessions that were opened with an assertion are refreshed with one of the same key; that of an anonymous user
  /// also with one of another genuine app instance, to which it is bound from then on.
  case prefer
  /// Every session is refreshed with an assertion of its key, and of no other.
  case require
}

/// What became of a refresh.
package enum RefreshOutcome: Sendable, Equatable {
  /// The session as it is now: rotated, or the current token once more. Tokens are made of it.
  case refreshed(OpenSession)
  case refused(RefreshRefusal)
}

/// Why a session is not refreshed, in the words of the wire contract.
package enum RefreshRefusal: Error, Sendable, Equatable {
  /// The session is gone: signed out, or its user deleted.
  case notFound
  /// A token older than the current one's parent (RULES §3.5). `endedFamily` says whether the session was ended;
  /// that of an anonymous user stays.
  case reused(endedFamily: Bool)
  /// Past its lifetime.
  case expired
  /// Longer unused than allowed.
  case inactive
  case banned
  case deleting
  /// The session is bound to a key, and no assertion of it came (RULES §3.5).
  case attestationRequired
  /// It came to something else than was expected (``StepExpectation``): it may be asked again.
  case changed
}
