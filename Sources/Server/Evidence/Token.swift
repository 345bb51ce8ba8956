import Cryptography
import Encodings

/// The opaque tokens of Bramley: a prefix that tells the kind, then 32 random octets. The database has their
/// SHA-256 alone.
package enum Token {
  /// Of attested session tokens (RULES §1.8).
  package static let sessionPrefix = "bat_"
  /// Of debug tokens. The name follows, so that a token says which one it is, then `_` and the random part.
  package static let debugPrefix = "bdt_"

  /// Of operators' keys, in Supabase's spelling: its clients take no other beside JSON web tokens.
  package static let adminPrefix = "sb_secret_"

  /// An operator's key of 32 random octets.
  package static func admin(random: [UInt8]) -> String { adminPrefix + Base64.encodeURL(random) }

  /// A session token of 32 random octets.
  package static func session(random: [UInt8]) -> String { sessionPrefix + Base64.encodeURL(random) }

  /// A debug token of that name; nil for a name that is not 1 to 32 small letters, digits and hyphens.
  package static func debug(name: String, random: [UInt8]) -> String? {
    isName(name[...]) ? debugPrefix + name + "_" + Base64.encodeURL(random) : nil
  }

  /// The name that a debug token carries; it holds once the token's hash is found. Nil when it has none.
  package static func name(ofDebugToken token: String) -> String? {
    guard token.utf8.count <= 128, token.hasPrefix(debugPrefix) else { return nil }
    let name = token.dropFirst(debugPrefix.count).prefix { $0 != "_" }
    return isName(name) ? String(name) : nil
  }

  /// What the database has of a token.
  package static func hash(_ token: String) -> [UInt8] { SHA256.hash(token) }

  /// Whether it is a name for a token: 1 to 32 small letters, digits and hyphens.
  package static func isName(_ name: String) -> Bool { isName(name[...]) }

  private static func isName(_ name: Substring) -> Bool {
    (1...32).contains(name.utf8.count)
      && name.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
      }
  }
}
