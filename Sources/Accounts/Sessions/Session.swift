package import Encodings

/// A way in which the user proved to be who they are, as `amr` lists it (RFC 8176 in Supabase's words).
package struct AuthenticationMethod: Sendable, Equatable {
  /// `anonymous` or `oauth`.
  package var method: String
  /// Seconds since 1970.
  package var timestamp: Int64

  package init(method: String, timestamp: Int64) {
    self.method = method
    self.timestamp = timestamp
  }
}

/// A session: what an access token and its refresh token belong to. Times are milliseconds since 1970.
package struct Session: Sendable, Equatable {
  /// `session_id` in the access token.
  package var id: UUID
  package var userID: UUID
  package var createdAt: Int64
  package var refreshedAt: Int64
  /// The number of the current refresh token (RULES §3.4).
  package var counter: Int64
  /// `auth_time`: when the user last proved themself actively in this session, seconds since 1970 (RULES §3.3).
  package var authTime: Int64
  /// Newest first.
  package var methods: [AuthenticationMethod]
  /// The App Attest key with whose assertion it was opened; history for the app's backend (RULES §1.7), and
  /// what `bind_refresh` binds it to (RULES §3.5).
  package var keyID: [UInt8]?
  /// Set once the client was seen to have it (RULES §3.8).
  package var acknowledgedAt: Int64?
  /// The session that replaced this one when an identity was linked (RULES §3.8).
  package var successor: UUID?

  package init(
    id: UUID, userID: UUID, createdAt: Int64, refreshedAt: Int64, counter: Int64 = 0, authTime: Int64,
    methods: [AuthenticationMethod], keyID: [UInt8]? = nil, acknowledgedAt: Int64? = nil,
    successor: UUID? = nil
  ) {
    self.id = id
    self.userID = userID
    self.createdAt = createdAt
    self.refreshedAt = refreshedAt
    self.counter = counter
    self.authTime = authTime
    self.methods = methods
    self.keyID = keyID
    self.acknowledgedAt = acknowledgedAt
    self.successor = successor
  }
}

/// How long sessions live; nil means without end. Milliseconds.
package struct SessionPolicy: Sendable, Equatable {
  /// From the opening on.
  package var lifetime: Int64?
  /// Since the last refresh.
  package var inactivity: Int64?

  package init(lifetime: Int64? = nil, inactivity: Int64? = nil) {
    self.lifetime = lifetime
    self.inactivity = inactivity
  }
}

/// A user's session as an answer to a client carries it.
package struct OpenSession: Sendable, Equatable {
  package var user: User
  package var session: Session

  package init(user: User, session: Session) {
    self.user = user
    self.session = session
  }
}
