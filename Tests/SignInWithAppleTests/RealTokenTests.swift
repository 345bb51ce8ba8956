import BramleyTesting
import Cryptography
import Encodings
import Testing

@testable import SignInWithApple

@Suite("Real tokens of Apple", Fixtures.required)
struct RealTokenTests {
  @Test("each verifies at its time with the key of its name", arguments: RealToken.all)
  func holds(_ real: RealToken) throws {
    try real.verify()
  }

  @Test("an identity token says what its claims say", arguments: RealToken.identities)
  func identity(_ real: RealToken) throws {
    let token = try AppleToken(parsing: real.text)
    let identity = try IdentityTokenVerifier(clients: [real.client]).verify(
      token, key: #require(RealToken.keys[token.kid]), nonce: .unchecked(NonceRule.Unchecked()),
      now: real.time)
    #expect(identity.subject == real.claims["sub"]?.string)
    #expect(identity.clientID == real.claims["aud"]?.string)
    #expect(identity.issuedAt == real.claims["iat"]?.integer)
    #expect(identity.expiresAt == real.claims["exp"]?.integer)
    #expect(identity.codeHash == real.claims["c_hash"]?.string)
    #expect(identity.authTime == real.claims["auth_time"]?.integer)
    #expect(identity.email == real.claims["email"]?.string)
    #expect(identity.tokenHash == SHA256.hash(real.text))
    #expect(identity.nonce == nil && identity.realUserStatus == nil && identity.transferSubject == nil)
  }

  @Test(
    "RULES §2.1: without a nonce no rule that a configuration reaches takes one",
    arguments: RealToken.identities)
  func nonceDemanded(_ real: RealToken) throws {
    let token = try AppleToken(parsing: real.text)
    let key = try #require(RealToken.keys[token.kid])
    for kind in AppleClient.Kind.allCases {
      let client = AppleClient(clientID: real.client.clientID, kind: kind, teamID: "TEAM123456")
      for rule in [NonceRule.absent, .challenge("x"), .challenge(""), .clientNonce("x"), .clientNonce("")] {
        #expect(throws: AppleTokenError.self) {
          try IdentityTokenVerifier(clients: [client]).verify(token, key: key, nonce: rule, now: real.time)
        }
      }
    }
  }

  @Test("a notification says what its claims say", arguments: RealToken.notifications)
  func notification(_ real: RealToken) throws {
    let token = try AppleToken(parsing: real.text)
    let notification = try NotificationVerifier(clients: [real.client]).verify(
      token, key: #require(RealToken.keys[token.kid]), now: real.time)
    let said = try JSONReader.read(Array(#require(real.claims["events"]?.string).utf8))
    let event = try #require(notification.events.first)
    #expect(notification.events.count == 1)
    #expect(notification.id == real.claims["jti"]?.string)
    #expect(event.type == .consentRevoked)
    #expect(event.subject == said["sub"]?.string)
    #expect(event.time == said["event_time"]?.integer, "milliseconds stay milliseconds")
    #expect(event.time / 1_000 <= notification.issuedAt)
  }

  @Test("no other key verifies it", arguments: RealToken.all)
  func otherKeys(_ real: RealToken) throws {
    let kid = try AppleToken(parsing: real.text).kid
    for (name, key) in RealToken.keys where name != kid {
      #expect(throws: AppleTokenError.signature) { try real.verify(key: key) }
    }
    #expect(throws: AppleTokenError.signature) { try real.verify(key: TestApple.shared.key.publicKey) }
  }

  @Test("no other audience takes it", arguments: RealToken.all)
  func otherAudience(_ real: RealToken) {
    for id in ["", "com.example.app", real.client.clientID + " ", real.client.clientID.uppercased()] {
      let client = AppleClient(clientID: id, kind: .native, teamID: "TEAM123456")
      #expect(
        throws: AppleTokenError.audience(received: [real.client.clientID], configured: [id])
      ) { try real.verify(client: client) }
    }
  }

  @Test("no other time takes it", arguments: RealToken.all)
  func otherTime(_ real: RealToken) throws {
    let issued = real.time - 1
    try real.verify(time: issued - 60)
    for time in [issued - 61, 0, -1, Int64.min] {
      #expect(throws: AppleTokenError.self, "at \(time)") { try real.verify(time: time) }
    }
    let last = real.isNotification ? real.expiry + NotificationVerifier.grace - 1 : issued + 600
    try real.verify(time: last)
    for time in [last + 1, Int64.max] {
      #expect(throws: AppleTokenError.self, "at \(time)") { try real.verify(time: time) }
    }
  }

  @Test("RULES §2.1: neither kind is taken for the other", arguments: RealToken.all)
  func otherKind(_ real: RealToken) throws {
    let token = try AppleToken(parsing: real.text)
    let key = try #require(RealToken.keys[token.kid])
    if real.isNotification {
      #expect(throws: AppleTokenError.isNotification) {
        try IdentityTokenVerifier(clients: [real.client]).verify(
          token, key: key, nonce: .unchecked(NonceRule.Unchecked()), now: real.time)
      }
    } else {
      #expect(throws: AppleTokenError.isIdentityToken) {
        try NotificationVerifier(clients: [real.client]).verify(token, key: key, now: real.time)
      }
    }
  }

  @Test("no changed octet passes", arguments: RealToken.all)
  func changedOctets(_ real: RealToken) {
    let octets = Array(real.text.utf8)
    for place in octets.indices {
      // All eight bits of every ninth octet, and one bit of every other: all of them take a minute.
      for bit in place % 9 == 0 ? 0..<8 : place % 6..<place % 6 + 1 {
        var changed = octets
        changed[place] ^= 1 << UInt8(bit)
        guard let text = String(validating: changed, as: UTF8.self) else { continue }
        #expect(throws: (any Error).self, "bit \(bit) of octet \(place)") { try real.verify(text) }
      }
    }
  }

  @Test("no cut or lengthened token passes", arguments: RealToken.all)
  func cut(_ real: RealToken) {
    for length in 0..<real.text.utf8.count {
      #expect(throws: (any Error).self) { try real.verify(String(real.text.prefix(length))) }
    }
    for added in ["A", "AA", "AAAA", "=", ".", " ", "\n", "\u{0}"] {
      #expect(throws: (any Error).self) { try real.verify(real.text + added) }
      #expect(throws: (any Error).self) { try real.verify(added + real.text) }
    }
  }

  @Test("real codes and access tokens have the hashes that stood in their tokens")
  func hashes() throws {
    let octets = try #require(Fixtures.bytes("siwa/hash-vectors.json"))
    let vectors = try JSONReader.read(octets)
    let pairs = [("c_hash", "code"), ("at_hash", "access_token")]
    for (list, value) in pairs {
      let entries = try #require(vectors[list]?.elements)
      #expect(!entries.isEmpty)
      for entry in entries {
        #expect(TokenHash.half(of: try #require(entry[value]?.string)) == entry[list]?.string)
      }
    }
    for entry in try #require(vectors["nonce"]?.elements) {
      let raw = try #require(entry["raw"]?.string)
      #expect(NonceRule.expected(of: raw, kind: .native) == entry["claim"]?.string)
      #expect(NonceRule.expected(of: raw, kind: .web) == raw)
    }
  }
}
