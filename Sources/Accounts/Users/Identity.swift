package import Encodings

/// An account at an identity provider that signs a user in. Its key is (provider, team, subject); everything
/// else is profile. Times are milliseconds since 1970.
package struct Identity: Sendable, Equatable {
  /// Whether the provider still vouches for it.
  package enum Status: Int64, Sendable {
    case live = 0
    /// The user withdrew consent, or Apple says that the refresh token is dead. Signing in again makes it live.
    case revoked = 1
  }

  /// `identity_id` on the wire.
  package var id: UUID
  package var userID: UUID
  /// `apple`.
  package var provider: String
  /// The Apple developer team by which `subject` is scoped.
  package var teamID: String
  /// Apple's `sub`.
  package var subject: String
  /// The address that the provider named last, lowercase.
  package var email: String?
  /// Whether it is a relay address; nil where the provider did not say.
  package var isPrivateEmail: Bool?
  package var status: Status
  /// `iat` of the newest token that signed in with it: when the user last consented (RULES §2.3).
  package var consentAt: Int64
  /// `identity_data` on the wire, an object.
  package var data: JSONValue
  package var createdAt: Int64
  package var updatedAt: Int64
  package var lastSignInAt: Int64
  /// Whether mail to its relay address reaches the user; nil where Apple said nothing of this address.
  package var forwardsEmail: Bool?
  /// When Apple last said so, or when the address became another one.
  package var forwardingAt: Int64?

  package init(
    id: UUID, userID: UUID, provider: String, teamID: String, subject: String, email: String?,
    isPrivateEmail: Bool?, status: Status = .live, consentAt: Int64, data: JSONValue, createdAt: Int64,
    updatedAt: Int64, lastSignInAt: Int64, forwardsEmail: Bool? = nil, forwardingAt: Int64? = nil
  ) {
    self.id = id
    self.userID = userID
    self.provider = provider
    self.teamID = teamID
    self.subject = subject
    self.email = email
    self.isPrivateEmail = isPrivateEmail
    self.status = status
    self.consentAt = consentAt
    self.data = data
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.lastSignInAt = lastSignInAt
    self.forwardsEmail = forwardsEmail
    self.forwardingAt = forwardingAt
  }
}
