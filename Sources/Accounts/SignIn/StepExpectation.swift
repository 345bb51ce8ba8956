/// What a step is to come to where a hook is asked of it first (RULES §3.9). No hook is called inside a transaction: the
/// step is tried and taken back, the hook is asked of what it would come to, and then it is done if it still comes to
/// that.
package enum StepExpectation: Sendable, Equatable {
  /// It is done, whatever it comes to.
  case anything
  /// It is tried and taken back: nothing changes. A refusal is final, and is noted as ever.
  case trial
  /// It is done if the session's tokens say what this one's would. Else nothing changes, and it is refused as
  /// `changed`.
  case session(OpenSession)
}

extension OpenSession {
  /// Whether access tokens of both say the same.
  package func saysTheSame(as other: OpenSession) -> Bool {
    let (own, others) = (self, other)
    func claims(_ open: OpenSession) -> AccessTokenClaims {
      AccessTokenClaims(issuer: "", open, lifetime: 0, now: 0)
    }
    return claims(own).json == claims(others).json
  }
}

/// What a step that a hook is asked of comes to.
package protocol SessionOutcome: Sendable {
  /// The session, where it was opened, renewed or answered again.
  var opened: OpenSession? { get }
  /// Whether it came to something else than was expected.
  var isChanged: Bool { get }
}

extension Result: SessionOutcome where Success == OpenSession, Failure == SignInRefusal {
  package var opened: OpenSession? { try? get() }
  package var isChanged: Bool { self == .failure(.changed) }
}

extension RefreshOutcome: SessionOutcome {
  package var opened: OpenSession? { if case .refreshed(let open) = self { open } else { nil } }
  package var isChanged: Bool { self == .refused(.changed) }
}
