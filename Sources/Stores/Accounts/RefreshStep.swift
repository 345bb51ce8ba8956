import Accounts
import Encodings
import SQL

/// Judging a refresh token and rotating (RULES §3.4, §3.5, §3.8). One row is locked, the session's.
struct RefreshStep {
  let refresh: Refresh
  let transaction: Transaction

  func run() async throws -> RefreshOutcome {
    guard var open = try await AccountSessionRows.open(refresh.session, locked: true, transaction) else {
      return .refused(.notFound)
    }
    let successor = try await AccountSessionRows.session(open.session.successor, transaction)
    let state: RefreshRule.Successor =
      switch (open.session.successor, successor) {
      case (nil, _): .none
      case (_?, nil): .ended
      case (_?, let next?): .living(acknowledgedAt: next.acknowledgedAt)
      }
    let decision = RefreshRule.decide(refresh, session: open.session, user: open.user, successor: state)
    switch decision {
    case .rotate(let counter, let key):
      if key != nil, open.session.keyID != nil {
        try AuditRows.write(
          .sessionMoved, by: refresh.origin, user: open.user.id, session: open.session.id,
          reason: "refreshed with another key",
          now: refresh.now, transaction)
      }
      open.session.counter = counter
      open.session.refreshedAt = refresh.now
      open.session.acknowledgedAt = open.session.acknowledgedAt ?? refresh.now
      open.session.keyID = key ?? open.session.keyID
      try AccountSessionRows.update(open.session, transaction)
      return .refreshed(open)
    case .answerAgain:
      if open.session.acknowledgedAt == nil {
        open.session.acknowledgedAt = refresh.now
        try AccountSessionRows.update(open.session, transaction)
      }
      return .refreshed(open)
    case .answerSuccessor:
      guard let successor else { return .refused(.reused(endedFamily: false)) }
      return .refreshed(OpenSession(user: open.user, session: successor))
    case .refuse(let refusal):
      try await note(refusal, open)
      return .refused(refusal)
    }
  }

  private func note(_ refusal: RefreshRefusal, _ open: OpenSession) async throws {
    guard case .reused(let endsFamily) = refusal else { return }
    if endsFamily { try await AccountSessionRows.end(open.session.id, of: open.user.id, transaction) }
    let reason =
      if endsFamily {
        "refresh token reused: session ended"
      } else if open.session.successor == nil {
        "refresh token reused: session kept"
      } else {
        "refresh token of a retired session reused"
      }
    try AuditRows.write(
      .tokenRevoked, by: refresh.origin, user: open.user.id, session: open.session.id,
      result: .refused, reason: reason,
      now: refresh.now, transaction)
    try EventRows.insert(
      .refreshTokenReused(open, endedSession: endsFamily, now: refresh.now), transaction)
  }
}
