/// What Apple tells of its users. Each method is one atomic step. Times are milliseconds since 1970.
package protocol AppleEventStore: Sendable {
  /// Keeps the event, also of a subject that is unknown here; false where it was kept before. One by which consent
  /// ended refuses older identity tokens of its subject from now on (RULES §2.3).
  func record(_ event: AppleEvent, now: Int64) async throws -> Bool
}

/// A verified notification of Apple. Times are milliseconds since 1970.
package struct AppleEvent: Sendable, Equatable {
  /// `jti`.
  package var id: String
  /// As Apple spells it.
  package var type: String
  package var teamID: String
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
}
