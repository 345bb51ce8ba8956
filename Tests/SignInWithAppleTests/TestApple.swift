import BramleyTesting
import Cryptography
import Encodings
import Testing

@testable import SignInWithApple

/// Signs tokens as Apple does, with a key of its own.
struct TestApple {
  static let shared = TestApple()

  /// The time of everything, seconds since 1970.
  static let now: Int64 = 1_800_000_000
  static let native = AppleClient(clientID: "com.example.app", kind: .native, teamID: "TEAM123456")
  static let web = AppleClient(clientID: "com.example.web", kind: .web, teamID: "TEAM123456")
  static let subject = "001026.16112b36378440d995af22b268f00984.1744"
  static let raw = "a raw value"

  let key: RSA.PrivateKey
  let other: RSA.PrivateKey

  private init() {
    guard let key = try? RSA.PrivateKey(), let other = try? RSA.PrivateKey() else { fatalError("no keys") }
    self.key = key
    self.other = other
  }

  /// The claims of a native sign-in with these changed; nil takes one out.
  static func claims(_ changes: [(String, JSONValue?)] = []) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("iss", "https://appleid.apple.com"), ("aud", .string(native.clientID)),
      ("exp", .integer(now + 86_400)),
      ("iat", .integer(now)), ("sub", .string(subject)),
      ("nonce", .string(Hex.encode(SHA256.hash(raw)))), ("email", "a@example.com"),
      ("email_verified", "true"), ("auth_time", .integer(now)), ("nonce_supported", true),
      ("real_user_status", 2),
    ]
    for (name, value) in changes {
      members.removeAll { $0.0 == name }
      if let value { members.append((name, value)) }
    }
    return .object(members)
  }

  func token(_ claims: JSONValue) throws -> AppleToken {
    try AppleToken(parsing: RS256.sign(claims, kid: "TESTKEY123", key: key))
  }

  /// Verifies a token with these changes of its claims.
  func verify(
    _ changes: [(String, JSONValue?)] = [], clients: [AppleClient] = [native, web],
    nonce: NonceRule = .challenge(raw), code: String? = nil, now: Int64 = now
  ) throws -> AppleIdentity {
    try IdentityTokenVerifier(clients: clients).verify(
      token(Self.claims(changes)), key: key.publicKey, nonce: nonce, code: code, now: now)
  }
}

/// A token that Apple signed, as its file describes it.
struct RealToken: Sendable, CustomTestStringConvertible {
  let name: String
  let isNotification: Bool
  let text: String
  /// Seconds since 1970.
  let time: Int64
  let expiry: Int64
  let client: AppleClient
  let claims: JSONNode

  var testDescription: String { name }

  static let all: [RealToken] = Fixtures.documents(in: "siwa").compactMap { fixture in
    guard let kind = fixture.string("kind") else { return nil }
    guard let text = fixture.string("jwt"), let time = fixture.integer("verify_at"),
      let expiry = fixture.integer("exp"), let claims = fixture.json["claims"],
      let audience = claims["aud"]?.string
    else { fatalError("\(fixture.name) lacks a member") }
    return RealToken(
      name: fixture.name, isNotification: kind == "notification", text: text, time: time, expiry: expiry,
      client: AppleClient(clientID: audience, kind: .native, teamID: "TEAM123456"), claims: claims)
  }
  static let identities = all.filter { !$0.isNotification }
  static let notifications = all.filter(\.isNotification)

  /// The keys of the years.
  static let keys: [String: RSA.PublicKey] =
    Fixtures.bytes("siwa/apple-jwks-historical.json").flatMap { try? JWKSet(parsing: $0).rsa } ?? [:]

  /// Throws whatever the rule for its kind throws.
  func verify(
    _ changed: String? = nil, key: RSA.PublicKey? = nil, client: AppleClient? = nil, time: Int64? = nil
  ) throws {
    let token = try AppleToken(parsing: changed ?? text)
    guard let key = key ?? Self.keys[token.kid] else { throw AppleTokenError.unknownKey(kid: token.kid) }
    if isNotification {
      _ = try NotificationVerifier(clients: [client ?? self.client]).verify(
        token, key: key, now: time ?? self.time)
    } else {
      _ = try IdentityTokenVerifier(clients: [client ?? self.client]).verify(
        token, key: key, nonce: .unchecked(NonceRule.Unchecked()), now: time ?? self.time)
    }
  }
}
