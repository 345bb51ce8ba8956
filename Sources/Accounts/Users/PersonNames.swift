import Cryptography
import Encodings

/// The names under which counters outlive an account (RULES §4.3): an Apple account that comes back under a new user
/// id finds what it has used. Nobody can tell from a name whose it is.
package struct PersonNames: Sendable {
  private let key: [UInt8]

  /// - Parameter secret: 32 octets, the same for as long as counters are kept.
  package init(secret: [UInt8]) {
    key = HKDFSHA256.derive(secret: secret, label: "bramley person v1")
  }

  /// The name of an identity: HMAC over team and subject, in hexadecimal digits.
  package func name(of identity: Identity) -> String {
    // A line feed stands in neither.
    let code = HMACSHA256.code(for: Array("\(identity.teamID)\n\(identity.subject)".utf8), key: key)
    return Hex.encode(code.prefix(16))
  }

  /// The name under which a user counts: of several identities that of the oldest. Nil for an anonymous user.
  package func name(of user: User) -> String? {
    user.identities.min {
      ($0.createdAt, $0.id.description) < ($1.createdAt, $1.id.description)
    }.map(name)
  }
}
