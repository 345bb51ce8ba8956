package import Encodings

/// Where mail reaches a user, and what may be sent there: so that whoever is told the address is told its limits with
/// it, and a relay address never gets into a list for marketing.
package struct MailContact: Sendable, Equatable {
  package var email: String
  package var isVerified: Bool
  /// Whether it is a relay's address, behind which Apple keeps the user's own.
  package var isPrivate: Bool
  /// Whether mail that the user's own doings call for may be sent: the address is verified, and Apple has not said
  /// that it forwards nothing.
  package var mayContact: Bool
  /// Whether marketing may be sent, as far as this server can tell: never to a relay address. Whether the user agreed
  /// to it is for the app to know.
  package var mayMarket: Bool

  /// nil for a user without an address.
  package init?(_ user: User) {
    guard let email = user.email, !email.isEmpty else { return nil }
    let source = user.identities.first { $0.email == email }
    self.email = email
    isVerified = user.emailConfirmedAt != nil
    isPrivate = email.hasSuffix(Profile.relayDomain) || source?.isPrivateEmail == true
    let isForwarded = !isPrivate || source?.forwardsEmail != false && source?.status != .revoked
    mayContact = isVerified && isForwarded && user.deletingSince == nil
    mayMarket = mayContact && !isPrivate
  }

  /// As it stands in `data.contact`.
  package var json: JSONValue {
    [
      "email": .string(email), "email_verified": .bool(isVerified), "is_private_email": .bool(isPrivate),
      "may_contact": .bool(mayContact), "may_market": .bool(mayMarket),
    ]
  }
}
