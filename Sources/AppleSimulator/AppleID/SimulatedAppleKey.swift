import Cryptography
import Encodings

/// A key that the simulated Apple signs tokens with. Making one takes a tenth of a second and more; it can be
/// shared by as many simulated Apples as a test needs.
public struct SimulatedAppleKey: Sendable {
  /// Its name in the key set and in the header of tokens: ten characters.
  public let kid: String
  let key: RSA.PrivateKey

  /// A fresh key.
  public init() throws(SimulatorError) {
    guard let key = try? RSA.PrivateKey() else { throw .cryptography }
    self.init(key: key)
  }

  init(key: RSA.PrivateKey) {
    self.key = key
    kid = AppleIDSpelling.letters(SHA256.hash(key.publicKey.modulus), count: 10)
  }

  var jwk: JSONValue {
    [
      "kty": "RSA", "kid": .string(kid), "use": "sig", "alg": "RS256",
      "n": .string(Base64.encodeURL(key.publicKey.modulus)),
      "e": .string(Base64.encodeURL(key.publicKey.exponent)),
    ]
  }
}

extension SimulatedAppleKey: CustomStringConvertible, CustomReflectable {
  /// Its name.
  public var description: String { "SimulatedAppleKey(\(kid))" }
  /// Its name alone.
  public var customMirror: Mirror { Mirror(self, children: ["kid": kid]) }
}

/// What a developer downloads once from the simulated Apple: the key that client secrets, and tokens for the services
/// for devices, are signed with.
public struct SimulatedTeamKey: Sendable {
  /// The team.
  public let teamID: String
  /// `kid` of client secrets: ten characters.
  public let keyID: String
  /// The text of `AuthKey_….p8`: a secret.
  public let p8: String

  /// A fresh key of a team, for ``SimulatedDeviceServices``; ``SimulatedAppleID/makeKey(team:)`` makes those that a
  /// simulated Apple ID knows.
  public init(team teamID: String) throws(SimulatorError) {
    guard let key = try? P256.PrivateKey(), let pem = try? key.pem else { throw .cryptography }
    self.init(teamID: teamID, keyID: Self.keyID(of: key), p8: pem)
  }

  init(teamID: String, keyID: String, p8: String) {
    self.teamID = teamID
    self.keyID = keyID
    self.p8 = p8
  }

  static func keyID(of key: P256.PrivateKey) -> String {
    AppleIDSpelling.letters(SHA256.hash(key.point), count: 10).uppercased()
  }
}

/// How Apple spells what it makes up.
enum AppleIDSpelling {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
  private static let small = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)

  /// Letters and digits that the octets choose.
  static func letters(_ octets: [UInt8], count: Int) -> String {
    String(decoding: octets.prefix(count).map { alphabet[Int($0) % alphabet.count] }, as: UTF8.self)
  }

  /// `NNNNNN.<32 hex>.NNNN`, from 24 octets or more.
  static func subject(_ octets: [UInt8]) -> String {
    func digits(_ range: Range<Int>) -> String {
      String(decoding: octets[range].map { 0x30 + $0 % 10 }, as: UTF8.self)
    }
    return "00\(digits(16..<20)).\(Hex.encode(octets[..<16])).\(digits(20..<24))"
  }

  /// `c<32 hex>.0.<letters>.<22 base64url>`, from 36 octets: a code (`c`), an access (`a`) or a refresh token
  /// (`r`).
  static func credential(_ kind: String, _ octets: [UInt8]) -> String {
    let middle = String(decoding: octets[32..<36].map { UInt8(ascii: "q") + $0 % 6 }, as: UTF8.self)
    return "\(kind)\(Hex.encode(octets[..<16])).0.\(middle).\(Base64.encodeURL(octets[16..<32]))"
  }

  /// A relay address, from 10 octets.
  static func relay(_ octets: [UInt8]) -> String {
    String(decoding: octets.prefix(10).map { small[Int($0) % small.count] }, as: UTF8.self)
      + "@privaterelay.appleid.com"
  }
}
