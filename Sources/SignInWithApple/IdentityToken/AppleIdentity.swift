import Cryptography
import Encodings

/// What a verified identity token says. Times are seconds since 1970.
package struct AppleIdentity: Sendable, Equatable {
  /// With ``subject`` the key of the identity; nothing else is.
  package let teamID: String
  /// `sub`: opaque, at most 255 octets.
  package let subject: String
  /// `iss`.
  package let issuer: String
  /// `aud`: which of the operator's clients the user consented to. Only it can use the code and its tokens.
  package let clientID: String
  package let kind: AppleClient.Kind
  /// As it came; nil where the user gave none. Profile, never a key.
  package let email: String?
  package let isEmailVerified: Bool
  /// Whether the address is one of Apple's relays; nil where the token does not say.
  package let isPrivateEmail: Bool?
  /// nil where the token does not say: Apple says it at the first sign-up on a device alone.
  package let realUserStatus: RealUserStatus?
  /// When the user last proved to be there; nil where the token does not say.
  package let authTime: Int64?
  /// `iat`: the time of the consent (RULES §2.3).
  package let issuedAt: Int64
  package let expiresAt: Int64
  /// As the token has it.
  package let nonce: String?
  /// `transfer_sub`: the subject's name on its way between two teams, for 60 days.
  package let transferSubject: String?
  /// `c_hash`.
  package let codeHash: String?
  /// SHA-256 of the token, which is single-use until it expires (RULES §2.1).
  package let tokenHash: [UInt8]

  /// Whether `code` was issued with the token: a code is exchanged only then (RULES §2.2).
  package func belongs(_ code: String) -> Bool {
    guard let codeHash else { return false }
    return ConstantTime.equal(Array(codeHash.utf8), Array(TokenHash.half(of: code).utf8))
  }
}

/// The hashes by which an identity token names what was issued with it (OpenID Connect Core §3.3.2.11).
package enum TokenHash {
  /// `c_hash` of a code, `at_hash` of an access token: base64url of the left half of its SHA-256.
  package static func half(of value: String) -> String { Base64.encodeURL(SHA256.hash(value).prefix(16)) }
}

/// Apple's guess whether a person is there (`real_user_status`); values that Apple has not named yet are kept.
package struct RealUserStatus: RawRepresentable, Sendable, Hashable {
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }

  package static let unsupported = RealUserStatus(rawValue: 0)
  package static let unknown = RealUserStatus(rawValue: 1)
  package static let likelyReal = RealUserStatus(rawValue: 2)
}
