/// What Apple tells of its users. Each method is one atomic step. Times are milliseconds since 1970.
package protocol AppleEventStore: Sendable {
  /// Keeps the events of a notification, also of a subject that is unknown here; false where they were kept before.
  /// One by which consent ended refuses older identity tokens of its subject from now on (RULES §2.3), unless this
  /// server ended the consent itself: then it is kept and nothing else (RULES §2.4).
  func record(_ events: [AppleEvent], now: Int64) async throws -> Bool
  /// Events that wait to be applied, by their `event_time`, and puts their next try off to `retryAt`, or later
  /// by a quarter of how long one waits already (six hours at most), so that a crash in the middle neither loses one
  /// nor asks Apple twice.
  func pending(now: Int64, retryAt: Int64, limit: Int64) async throws -> [PendingAppleEvent]
  /// Does what the event asks for and notes what came of it; nil where it was applied before. One that came to
  /// ``AppleEventOutcome/deleting`` ended the sessions and waits on, until the deletion is begun and told by `finish`.
  ///
  /// - Parameters:
  ///   - consentHolds: whether Apple still honours a refresh token of the subject, where that was asked.
  func apply(
    _ id: String, consentHolds: Bool, policy: AppleEventPolicy, now: Int64
  ) async throws -> AppleEventResult?
  /// Notes what came of an event that waits.
  func finish(_ id: String, _ outcome: AppleEventOutcome, now: Int64) async throws
  /// Notes that this server is about to end the consent at Apple: what Apple tells of it within ten minutes is
  /// kept and not applied (RULES §2.4). To be called before Apple is asked, which may tell before it answers.
  func revoking(teamID: String, subject: String, now: Int64) async throws
  /// Takes that back: Apple did not end the consent, so that what it tells from now on is the user's own doing.
  func notRevoked(teamID: String, subject: String) async throws
  /// Forgets events that were applied before that time, and revocations of before.
  func forget(before time: Int64) async throws
}

/// An event that waits to be applied.
package struct PendingAppleEvent: Sendable, Equatable {
  package var event: AppleEvent
  /// For one by which consent ends, and that is newer than the consent: what Apple is to be asked about before an
  /// account is deleted (RULES §2.4).
  package var tokens: [SealedAppleToken]

  package init(event: AppleEvent, tokens: [SealedAppleToken]) {
    self.event = event
    self.tokens = tokens
  }
}
