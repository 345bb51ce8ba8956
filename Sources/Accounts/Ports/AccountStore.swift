package import Encodings

/// Users, their identities and their sessions. Each method is one atomic step: it consumes what is single use,
/// decides and writes in one transaction, and a refusal changes nothing but what its case says.
///
/// Throws what the database throws, and nothing else.
package protocol AccountStore: Sendable {
  /// Makes an anonymous user with a session.
  func signUp(_ newcomer: AnonymousSignUp) async throws -> OpenSession
  /// Finds the identity's user or makes both, and opens a session: 50 at once make one user. The same request
  /// within two minutes, its session not acknowledged, gives that session again (RULES §3.6).
  func signIn(_ signIn: IdentitySignIn) async throws -> Result<OpenSession, SignInRefusal>
  /// Links the identity to the bearer's user and opens a new session, which replaces the bearer's once it is
  /// acknowledged (RULES §3.8). A conflict stores a switch ticket.
  func link(_ link: IdentityLink) async throws -> Result<OpenSession, SignInRefusal>
  /// Renews the `auth_time` of the bearer's session by an identity of the same user (RULES §3.3); the token and
  /// our challenge are consumed, the session keeps its id.
  func reauthenticate(_ signIn: IdentitySignIn, bearer: UUID) async throws -> Result<
    OpenSession, SignInRefusal
  >
  /// Consumes a switch ticket and opens a session of the other user (RULES §3.7).
  func `switch`(_ change: AccountSwitch) async throws -> Result<OpenSession, SignInRefusal>
  /// Notes what the session that a ticket opened says of the anonymous user who was left behind, and begins their
  /// deletion where they are discarded (RULES §3.7). The deletion that it began, ended where nothing is to be erased.
  func leave(_ said: LeavingWord) async throws -> Result<Deletion?, SignInRefusal>
  /// Judges a refresh token and rotates (RULES §3.4, §3.5, §3.8).
  func refresh(_ refresh: Refresh) async throws -> RefreshOutcome
  /// The session and its user, where both live; acknowledges the session (RULES §3.8). nil when it is gone; a
  /// banned or leaving user is returned as such.
  func session(_ id: UUID, now: Int64) async throws -> OpenSession?
  /// Ends sessions of the bearer's user; false when the bearer's is gone.
  func signOut(
    _ session: UUID, _ scope: SignOutScope, by origin: RequestOrigin, now: Int64
  ) async throws -> Bool
}

/// Which sessions end (`scope` of `POST /logout`).
package enum SignOutScope: String, Sendable, CaseIterable {
  /// All of the user's.
  case global
  /// The bearer's.
  case local
  /// All but the bearer's.
  case others
}
