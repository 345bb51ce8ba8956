package import Encodings

/// What is told of each step of an account.
extension OutgoingEvent {
  /// - Parameter means: `anonymous`, `operator`, or the provider whose identity made the user.
  package static func created(_ user: User, session: UUID?, by means: String, now: Int64) -> OutgoingEvent {
    var members: [(String, JSONValue)] = [
      ("method", .string(means)), ("is_anonymous", .bool(user.isAnonymous)),
    ]
    if let session { members.append(("session_id", .string(session.description))) }
    if let identity = user.identities.first {
      members.append(("identity_id", .string(identity.id.description)))
    }
    return OutgoingEvent(.userCreated, user, members, time: now)
  }

  package static func signedIn(_ open: OpenSession, by means: String, now: Int64) -> OutgoingEvent {
    OutgoingEvent(
      .userSignedIn, open.user, [session(open), ("method", .string(means))], time: now)
  }

  package static func linked(
    _ open: OpenSession, _ identity: Identity, wasAnonymous: Bool, now: Int64
  ) -> OutgoingEvent {
    OutgoingEvent(
      .userLinked, open.user,
      [
        session(open), ("identity_id", .string(identity.id.description)),
        ("provider", .string(identity.provider)), ("was_anonymous", .bool(wasAnonymous)),
      ], time: now)
  }

  /// - Parameter former: the user who was left behind, whose data the app's backend may carry over.
  package static func switched(
    _ open: OpenSession, from former: UUID?, now: Int64
  ) -> OutgoingEvent {
    var members = [session(open)]
    if let former { members.append(("previous_user_id", .string(former.description))) }
    return OutgoingEvent(.userSwitched, open.user, members, time: now)
  }

  package static func reauthenticated(
    _ open: OpenSession, _ identity: Identity, now: Int64
  ) -> OutgoingEvent {
    OutgoingEvent(
      .userReauthenticated, open.user,
      [
        session(open), ("identity_id", .string(identity.id.description)),
        ("auth_time", .integer(open.session.authTime)),
      ], time: now)
  }

  /// What happened to an identity; the user as they are now.
  package static func about(
    _ identity: Identity, of user: User, _ kind: Kind, _ members: [(String, JSONValue)] = [], now: Int64
  ) -> OutgoingEvent {
    OutgoingEvent(
      kind, user,
      [
        ("identity_id", .string(identity.id.description)), ("provider", .string(identity.provider)),
      ] + members, time: now)
  }

  package static func refreshTokenReused(
    _ open: OpenSession, endedSession: Bool, now: Int64
  ) -> OutgoingEvent {
    OutgoingEvent(
      .refreshTokenReused, user: open.user.id, [session(open), ("session_ended", .bool(endedSession))],
      time: now)
  }

  /// - Parameter reason: in the words of this program; nil where an operator or the user asked.
  package static func deleted(_ user: UUID, reason: String?, now: Int64) -> OutgoingEvent {
    OutgoingEvent(
      .userDeleted, user: user, reason.map { [("reason", .string($0))] } ?? [], time: now)
  }

  private static func session(_ open: OpenSession) -> (String, JSONValue) {
    ("session_id", .string(open.session.id.description))
  }
}
