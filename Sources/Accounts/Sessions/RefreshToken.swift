import Cryptography
package import Encodings

/// What a refresh token says: the session, and which one of its tokens it is (RULES §3.4).
package struct RefreshToken: Sendable, Equatable {
  package var session: UUID
  package var counter: Int64

  package init(session: UUID, counter: Int64) {
    self.session = session
    self.counter = counter
  }
}

/// Derives refresh tokens instead of keeping them: base64url of `version 1 ‖ secret id 1 ‖ session 16 ‖ counter 8 ‖
/// MAC 16` (RULES §3.4). The MAC is HMAC-SHA256 cut to 16 octets, under a key of this use's own. So the active token
/// of a session can be made again at any time, and the database holds none; whoever has it and its unsealed secret
/// can make them.
package struct RefreshTokens: Sendable {
  private struct MACKey {
    let id: UInt8
    let key: [UInt8]
  }

  /// Of the text.
  package static let length = 56

  private static let version: UInt8 = 1
  private static let signedLength = 26
  private static let label = "bramley-refresh-token-v1"

  private let keys: [MACKey]

  /// The first secret makes tokens, all are honoured. Without one no token is made.
  package init(secrets: [RefreshSecret]) {
    keys = secrets.map {
      MACKey(id: $0.id, key: HKDFSHA256.derive(secret: $0.secret, label: Self.label))
    }
  }

  /// The text of a token; nil without a secret, or for a negative counter.
  package func text(of token: RefreshToken) -> String? {
    guard let key = keys.first, token.counter >= 0 else { return nil }
    var octets = [Self.version, key.id] + token.session.octets
    for shift in stride(from: 56, through: 0, by: -8) {
      octets.append(UInt8(truncatingIfNeeded: token.counter >> Int64(shift)))
    }
    octets += Self.code(for: octets, key: key.key)
    return Base64.encodeURL(octets)
  }

  /// The text of a session's current token.
  package func current(of session: Session) -> String? {
    text(of: RefreshToken(session: session.id, counter: session.counter))
  }

  /// What the text says, where one of ours made it, in the one spelling that it has; nil for anything else.
  package func read(_ text: String) -> RefreshToken? {
    guard text.utf8.count == Self.length, let octets = Base64.decodeURL(text.utf8),
      octets.count == Self.signedLength + 16, octets[0] == Self.version,
      let key = keys.first(where: { $0.id == octets[1] })
    else { return nil }
    let code = Self.code(for: Array(octets[..<Self.signedLength]), key: key.key)
    guard ConstantTime.equal(code, Array(octets[Self.signedLength...])),
      let session = UUID(octets: Array(octets[2..<18]))
    else { return nil }
    let counter = octets[18..<Self.signedLength].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    return counter < 0 ? nil : RefreshToken(session: session, counter: counter)
  }

  private static func code(for octets: [UInt8], key: [UInt8]) -> [UInt8] {
    Array(HMACSHA256.code(for: octets, key: key).prefix(16))
  }
}
