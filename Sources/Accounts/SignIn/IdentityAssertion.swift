package import Encodings

/// What a verified identity token says, in this domain's words. Times are milliseconds since 1970.
package struct IdentityAssertion: Sendable, Equatable {
  /// `apple`.
  package var provider: String
  package var teamID: String
  package var subject: String
  /// The subject under the former team, for 60 days after a transfer (`transfer_sub`).
  package var transferSubject: String?
  /// The audience: which of the operator's client ids the user consented to.
  package var clientID: String
  package var issuer: String
  package var issuedAt: Int64
  package var expiresAt: Int64
  /// `auth_time` of the token; nil where it has none.
  package var authTime: Int64?
  /// Lowercase; nil or empty where the user gave none.
  package var email: String?
  package var isEmailVerified: Bool
  package var isPrivateEmail: Bool?
  /// The name as the app handed it on: unsigned, sanitized, taken for profile alone.
  package var fullName: PersonName?
  /// SHA-256 of the compact serialization: single use until `expiresAt` (RULES §2.1).
  package var tokenHash: [UInt8]
  /// SHA-256 of the request's body: a repeat within two minutes is the same request sent twice (RULES §3.6).
  package var requestHash: [UInt8]
  /// The challenge of ours that the token answers, as SHA-256; nil for a client's own nonce (RULES §2.1).
  package var challengeHash: [UInt8]?

  package init(
    provider: String = "apple", teamID: String, subject: String, transferSubject: String? = nil,
    clientID: String, issuer: String, issuedAt: Int64, expiresAt: Int64, authTime: Int64? = nil,
    email: String? = nil, isEmailVerified: Bool = false, isPrivateEmail: Bool? = nil,
    fullName: PersonName? = nil, tokenHash: [UInt8], requestHash: [UInt8], challengeHash: [UInt8]? = nil
  ) {
    self.provider = provider
    self.teamID = teamID
    self.subject = subject
    self.transferSubject = transferSubject
    self.clientID = clientID
    self.issuer = issuer
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.authTime = authTime
    self.email = email
    self.isEmailVerified = isEmailVerified
    self.isPrivateEmail = isPrivateEmail
    self.fullName = fullName
    self.tokenHash = tokenHash
    self.requestHash = requestHash
    self.challengeHash = challengeHash
  }
}

/// A person's name in the parts that Apple gives.
package struct PersonName: Sendable, Equatable {
  package var given: String?
  package var family: String?

  package init(given: String? = nil, family: String? = nil) {
    self.given = given
    self.family = family
  }
}

/// What a challenge of ours is for: it answers nothing else (RULES §2.1, §3.3).
package enum ChallengePurpose: String, Sendable, CaseIterable {
  case signIn = "sign_in"
  case link
  case reauthenticate
  case delete
}

/// A challenge that an identity token is to carry as its nonce. Times are milliseconds since 1970.
package struct AppleChallenge: Sendable, Equatable {
  /// SHA-256 of the value that the client was given.
  package var hash: [UInt8]
  package var purpose: ChallengePurpose
  /// The client id it was asked for; nil where the client did not say.
  package var clientID: String?
  /// The session it is bound to; nil for signing in.
  package var session: UUID?
  package var expiresAt: Int64

  package init(
    hash: [UInt8], purpose: ChallengePurpose, clientID: String? = nil, session: UUID? = nil,
    expiresAt: Int64
  ) {
    self.hash = hash
    self.purpose = purpose
    self.clientID = clientID
    self.session = session
    self.expiresAt = expiresAt
  }
}
