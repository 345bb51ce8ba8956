/// What a challenge may be used for; one made for a purpose holds for no other.
package enum ChallengePurpose: UInt8, Sendable, CaseIterable {
  /// `attestKey` at registration.
  case registration = 1
  /// An assertion on a request.
  case request = 2
  /// An assertion that buys a session token.
  case tokenExchange = 3

  /// The HKDF label of the purpose's MAC key.
  var label: String {
    switch self {
    case .registration: "bramley challenge registration v1"
    case .request: "bramley challenge request v1"
    case .tokenExchange: "bramley challenge token exchange v1"
    }
  }
}

/// Why a challenge is refused.
package enum ChallengeError: Error, Equatable, Sendable {
  /// Not base64, or not 42 octets.
  case malformed
  /// It names a secret that is no longer honoured, or never was.
  case unknownSecret
  /// It was made for another purpose.
  case wrongPurpose
  /// No server of ours made it.
  case unauthentic
  /// Its time is over.
  case expired
}

/// A challenge whose authenticity, purpose and time were checked.
package struct Challenge: Sendable, Equatable {
  /// How long one holds, seconds.
  package static let lifetime: Int64 = 300
  /// Octets of one.
  package static let length = 42
  /// Octets of its random part, which names its row where it has one.
  package static let randomLength = 16

  /// All octets, which enter the signed bytes.
  package let bytes: [UInt8]
  package let purpose: ChallengePurpose
  /// Until when it holds, seconds since 1970.
  package let expiry: Int64
  /// The random part, 16 octets.
  package let random: [UInt8]
}
