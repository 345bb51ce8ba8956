package import Encodings

/// Apple's refresh tokens, sealed, one for each identity and client id, and the challenges of ours that identity
/// tokens answer. Each method is one atomic step. Times are milliseconds since 1970.
package protocol AppleTokenStore: Sendable {
  /// Keeps a challenge until it is consumed by a sign-in or expires.
  func add(_ challenge: AppleChallenge, now: Int64) async throws
  /// Forgets what expired: challenges, hashes of used tokens, tickets, web flows.
  func sweep(now: Int64) async throws
  /// Keeps the token in the place of an older one of the same identity and client. Where nobody has the identity any
  /// more, its consent is to be ended: the token goes to what is left of `user`'s deletion, and is tried at once.
  ///
  /// - Parameter user: who signed in with it; nil where that is not known.
  func keep(_ token: SealedAppleToken, of user: UUID?, now: Int64) async throws -> TokenKeeping
  /// Tokens of a user, or of everyone, whose check is due, the longest due first, and puts their next check off
  /// to `retryAt`, so that a crash in the middle neither loses one nor asks Apple twice.
  func due(now: Int64, retryAt: Int64, limit: Int64) async throws -> [SealedAppleToken]
  /// Every token kept for a user.
  func tokens(of user: UUID) async throws -> [SealedAppleToken]
  /// Notes what Apple said of a token.
  func checked(_ id: Int64, _ verdict: AppleTokenVerdict, nextCheck: Int64, now: Int64) async throws
}

/// A refresh token of Apple, encrypted (AES-256-GCM) with the key that the configuration names.
package struct SealedAppleToken: Sendable, Equatable {
  /// The row; 0 for one that is not stored yet.
  package var id: Int64
  /// The identity by `(team, subject)`.
  package var teamID: String
  package var subject: String
  /// The client id that the code was issued to: it alone can use the token.
  package var clientID: String
  /// Names the key, for its rotation.
  package var sealingKey: String
  package var sealed: [UInt8]
  /// When it is to be checked at Apple, at most once a day.
  package var nextCheck: Int64

  package init(
    id: Int64 = 0, teamID: String, subject: String, clientID: String, sealingKey: String, sealed: [UInt8],
    nextCheck: Int64
  ) {
    self.id = id
    self.teamID = teamID
    self.subject = subject
    self.clientID = clientID
    self.sealingKey = sealingKey
    self.sealed = sealed
    self.nextCheck = nextCheck
  }
}

/// What became of a refresh token that was to be kept.
package enum TokenKeeping: Sendable, Equatable {
  case kept
  /// It waits to be revoked, with the deletion of its user.
  case queued
  /// Nobody has the identity, and no deletion is known that it could wait with.
  case orphaned
}

/// What Apple said of a refresh token.
package enum AppleTokenVerdict: Sendable, Equatable {
  case valid
  /// `invalid_grant`: the identity is marked revoked.
  case invalidGrant
  /// `invalid_request`: suspect; the second one in a row marks the identity.
  case invalidRequest
  /// No answer that says anything of the token.
  case unknown
}
