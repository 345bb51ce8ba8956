import Cryptography
import Encodings
import Testing

@testable import SignInWithApple

@Suite("Notifications")
struct NotificationTests {
  private let apple = TestApple.shared
  private let now = TestApple.now

  private func verify(
    _ events: JSONValue, _ changes: [(String, JSONValue?)] = [], now: Int64 = TestApple.now
  ) throws -> AppleNotification {
    var claims: [(String, JSONValue)] = [
      ("iss", "https://appleid.apple.com"), ("aud", .string(TestApple.native.clientID)),
      ("exp", .integer(TestApple.now + 86_400)), ("iat", .integer(TestApple.now)), ("jti", "id1"),
      ("events", events),
    ]
    for (name, value) in changes {
      claims.removeAll { $0.0 == name }
      if let value { claims.append((name, value)) }
    }
    return try NotificationVerifier(clients: [TestApple.native, TestApple.web]).verify(
      apple.token(.object(claims)), key: apple.key.publicKey, now: now)
  }

  private func event(_ changes: [(String, JSONValue?)] = []) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("type", "email-disabled"), ("sub", .string(TestApple.subject)), ("event_time", 1_799_999_990_123),
      ("email", "x@privaterelay.appleid.com"), ("is_private_email", "true"),
    ]
    for (name, value) in changes {
      members.removeAll { $0.0 == name }
      if let value { members.append((name, value)) }
    }
    return .object(members)
  }

  @Test("events come as a text, an object, or a list of them")
  func spellings() throws {
    let expected = AppleEvent(
      type: .emailDisabled, subject: TestApple.subject, time: 1_799_999_990_123,
      email: "x@privaterelay.appleid.com", isPrivateEmail: true)
    let one = event()
    for (events, count) in [
      (one, 1), (.string(one.text), 1), (.array([one]), 1), (.string(JSONValue.array([one, one]).text), 2),
      (.array([one, one, one]), 3),
    ] as [(JSONValue, Int)] {
      let notification = try verify(events)
      #expect(notification.events == [AppleEvent](repeating: expected, count: count))
      #expect(notification.client == TestApple.native && notification.id == "id1")
    }
    #expect(try verify(one, [("aud", .string(TestApple.web.clientID))]).client == TestApple.web)
  }

  @Test("times are milliseconds or seconds, and without one that of the notification")
  func times() throws {
    for (time, milliseconds) in [
      (1_799_999_990_123, 1_799_999_990_123), (1_799_999_990, 1_799_999_990_000),
      (100_000_000_001, 100_000_000_001), (0, 0),
    ] as [(Int64, Int64)] {
      let event = event([("event_time", .integer(time))])
      #expect(try verify(event).events.first?.time == milliseconds)
    }
    #expect(try verify(event([("event_time", nil)])).events.first?.time == now * 1_000)
    for time: JSONValue in ["soon", -1, .number("1e3"), .number("99999999999999999999"), []] {
      #expect(throws: AppleTokenError.claim("events.event_time")) {
        try verify(event([("event_time", time)]))
      }
    }
  }

  @Test("old and new spellings are one type, and an unknown one is kept")
  func types() throws {
    for (spelled, type) in [
      ("account-delete", AppleEventType.accountDeleted), ("account-deleted", .accountDeleted),
      ("consent-revoked", .consentRevoked), ("email-enabled", .emailEnabled),
    ] {
      let read = try verify(event([("type", .string(spelled))])).events.first?.type
      #expect(read == type && read?.isKnown == true)
    }
    let unknown = try verify(["type": "moon-phase", "colour": 7]).events.first
    #expect(unknown?.type.rawValue == "moon-phase" && unknown?.type.isKnown == false)
    #expect(unknown?.subject == nil)
    #expect(throws: AppleTokenError.claim("events.sub")) { try verify(event([("sub", nil)])) }
  }

  @Test("what is no event is refused")
  func malformed() {
    for events: JSONValue in ["", "{", "[]", [], 1, true, #"{"type":"a","type":"b"}"#, "null", [[]]] {
      #expect(throws: AppleTokenError.self, "\(events.text)") { try verify(events) }
    }
    #expect(throws: AppleTokenError.claim("events.type")) { try verify(event([("type", 1)])) }
    #expect(throws: AppleTokenError.claim("events")) {
      try verify(.array([JSONValue](repeating: event(), count: 33)))
    }
    for id: JSONValue? in [nil, "", 1, .string(String(repeating: "j", count: 256))] {
      #expect(throws: AppleTokenError.claim("jti")) { try verify(event(), [("jti", id)]) }
    }
  }

  @Test("RULES §2.1: what an identity token has, a notification has not")
  func identityTokens() {
    for name in ["nonce", "c_hash", "at_hash"] {
      #expect(throws: AppleTokenError.isIdentityToken) { try verify(event(), [(name, "x")]) }
    }
    for events: JSONValue? in [nil, .null] {
      #expect(throws: AppleTokenError.isIdentityToken) { try verify(event(), [("events", events)]) }
    }
  }

  @Test("RULES §2.3: accepted up to thirty days after expiry")
  func grace() throws {
    let expiry = now + 86_400
    _ = try verify(event(), now: expiry + 30 * 86_400 - 1)
    #expect(throws: AppleTokenError.expired(at: expiry, now: expiry + 30 * 86_400)) {
      try verify(event(), now: expiry + 30 * 86_400)
    }
    #expect(throws: AppleTokenError.self) { try verify(event(), now: now - 61) }
    #expect(throws: AppleTokenError.self) { try verify(event(), [("exp", .integer(1 << 60))], now: .max) }
  }

  @Test("Apple's request carries the token as its payload")
  func body() {
    #expect(AppleNotificationBody.payload(Array(#"{"payload":"a.b.c"}"#.utf8)) == "a.b.c")
    for text in ["", "{}", "[]", #"{"payload":1}"#, #"{"payload":"a","payload":"b"}"#, "payload=a.b.c"] {
      #expect(AppleNotificationBody.payload(Array(text.utf8)) == nil)
    }
    #expect(AppleNotificationBody.payload([UInt8](repeating: 0x20, count: 65_537)) == nil)
  }
}
