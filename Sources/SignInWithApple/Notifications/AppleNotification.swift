import Encodings

/// A verified server-to-server notification. Times are seconds since 1970 unless a name says otherwise.
package struct AppleNotification: Sendable, Equatable {
  /// `jti`: the same notification may come twice.
  package let id: String
  /// The client that it names as audience, which tells the team; which of a team's clients Apple names is not
  /// documented.
  package let client: AppleClient
  package let issuer: String
  package let issuedAt: Int64
  package let expiresAt: Int64
  /// In the order in which they came; one in every real notification.
  package let events: [AppleEvent]
  /// SHA-256 of the token.
  package let tokenHash: [UInt8]
}

/// Something that happened to an Apple account's consent.
package struct AppleEvent: Sendable, Equatable {
  package let type: AppleEventType
  /// `sub`; there is one for every type that is known.
  package let subject: String?
  /// `event_time` in **milliseconds** since 1970; where the event has none, that of the notification.
  package let time: Int64
  /// With the types about forwarding: the relay address that they are about.
  package let email: String?
  package let isPrivateEmail: Bool?
}

/// The type of an event: an open set, for what is not known is kept and changes nothing.
package struct AppleEventType: RawRepresentable, Sendable, Hashable {
  package let rawValue: String

  package init(rawValue: String) { self.rawValue = rawValue }

  /// Mail to the relay address reaches the user again.
  package static let emailEnabled = AppleEventType(rawValue: "email-enabled")
  /// Mail to the relay address does not reach the user.
  package static let emailDisabled = AppleEventType(rawValue: "email-disabled")
  /// The user stopped using Sign in with Apple for the app.
  package static let consentRevoked = AppleEventType(rawValue: "consent-revoked")
  /// The user deleted the Apple account. Apple has spelled it `account-delete` and `account-deleted`.
  package static let accountDeleted = AppleEventType(rawValue: "account-deleted")

  /// Whether it is one of those above.
  package var isKnown: Bool {
    [.emailEnabled, .emailDisabled, .consentRevoked, .accountDeleted].contains(self)
  }

  /// The type of that spelling.
  init(spelled text: String) {
    self = text == "account-delete" ? .accountDeleted : AppleEventType(rawValue: text)
  }
}

/// The body of Apple's request: `{"payload": "<token>"}`.
package enum AppleNotificationBody {
  /// The most octets that are read.
  package static let maximumLength = 65_536

  /// The token in it; nil for another body.
  package static func payload(_ body: [UInt8]) -> String? {
    guard body.count <= maximumLength else { return nil }
    return (try? JSONReader.read(body, maximumDepth: 8))?["payload"]?.string
  }
}
