import Cryptography
import Encodings
import Testing

@testable import SignInWithApple

@Suite("Identity tokens")
struct IdentityTokenTests {
  private let apple = TestApple.shared
  private let now = TestApple.now

  @Test("everything that a token says is read")
  func whole() throws {
    let identity = try apple.verify([
      ("is_private_email", "true"), ("transfer_sub", "760417.ebbf12acbc78e1be1668ba852d492d8a.1827"),
      ("auth_time", .integer(now - 3)),
    ])
    #expect(identity.teamID == "TEAM123456" && identity.subject == TestApple.subject)
    #expect(identity.clientID == "com.example.app" && identity.kind == .native)
    #expect(identity.email == "a@example.com" && identity.isEmailVerified)
    #expect(identity.isPrivateEmail == true && identity.realUserStatus == .likelyReal)
    #expect(identity.authTime == now - 3 && identity.issuedAt == now && identity.expiresAt == now + 86_400)
    #expect(identity.transferSubject == "760417.ebbf12acbc78e1be1668ba852d492d8a.1827")
    #expect(identity.issuer == "https://appleid.apple.com")
  }

  @Test("truth values come as texts and as truth values, and \"false\" is false")
  func truths() throws {
    for (value, truth) in [("true", true), ("false", false)] as [(JSONValue, Bool)] + [
      (true, true), (false, false),
    ] {
      let identity = try apple.verify([("email_verified", value), ("is_private_email", value)])
      #expect(identity.isEmailVerified == truth && identity.isPrivateEmail == truth)
    }
    for value: JSONValue in ["TRUE", "1", 1, "", [], .null] {
      let identity = try apple.verify([("email_verified", value), ("is_private_email", value)])
      #expect(!identity.isEmailVerified && identity.isPrivateEmail == nil)
    }
  }

  @Test("a profile that is missing or odd costs no sign-in, and is verified for nothing")
  func profile() throws {
    let long = String(repeating: "a", count: 255)
    for email: JSONValue? in [nil, "", .null, 1, .string(long), "a\nb@example.com"] {
      let identity = try apple.verify([("email", email)])
      #expect(identity.email == nil && !identity.isEmailVerified)
    }
    for status: JSONValue in [0, 1, 7, -1] {
      #expect(try apple.verify([("real_user_status", status)]).realUserStatus?.rawValue == Int64(status.text))
    }
    for status: JSONValue in ["2", .number("1.5"), .null] {
      #expect(try apple.verify([("real_user_status", status)]).realUserStatus == nil)
    }
    #expect(try apple.verify([("auth_time", nil)]).authTime == nil)
    #expect(try apple.verify([("nonce_supported", nil), ("new_claim", [1, 2])]).email != nil)
  }

  @Test("a claim of another type or size is refused by its name")
  func claims() {
    let bad: [(String, [JSONValue?])] = [
      ("sub", [nil, .null, "", 1, .string(String(repeating: "s", count: 256)), "a\u{0}b"]),
      ("iss", [nil, .null, 1, ["https://appleid.apple.com"]]),
      ("aud", [nil, .null, 1, [], [1], ["com.example.app", 1]]),
      ("iat", [nil, .null, "1800000000", -1, .number("1.8e9"), .number("99999999999999999999")]),
      ("exp", [nil, .null, "1800000000", -1, .number("1800000000.5")]),
      ("auth_time", ["now", -1, .number("1e3")]), ("c_hash", [1, []]),
    ]
    for (name, values) in bad {
      for value in values {
        #expect(throws: AppleTokenError.claim(name), "\(name): \(value?.text ?? "absent")") {
          try apple.verify([(name, value)])
        }
      }
    }
  }

  @Test("issuer and audience are one of the configured ones, octet by octet")
  func configured() throws {
    for issuer in [
      "https://account.apple.com", "http://appleid.apple.com", "https://appleid.apple.com/", "",
      "appleid.apple.com",
    ] {
      #expect(
        throws: AppleTokenError.issuer(received: issuer, accepted: ["https://appleid.apple.com"])
      ) { try apple.verify([("iss", .string(issuer))]) }
    }
    let both = IdentityTokenVerifier(
      clients: [TestApple.native], issuers: ["https://appleid.apple.com", "https://account.apple.com"])
    let flipped = try apple.token(TestApple.claims([("iss", "https://account.apple.com")]))
    let identity = try both.verify(
      flipped, key: apple.key.publicKey, nonce: .challenge(TestApple.raw), now: now)
    #expect(identity.issuer == "https://account.apple.com")
    for audience in ["", "com.example", "com.example.app2", "COM.EXAMPLE.APP", "host.exp.Exponent"] {
      #expect(
        throws: AppleTokenError.audience(
          received: [audience], configured: ["com.example.app", "com.example.web"])
      ) { try apple.verify([("aud", .string(audience))]) }
    }
    #expect(throws: AppleTokenError.self) { try apple.verify([("aud", ["com.example.app", "com.other"])]) }
    #expect(throws: AppleTokenError.self) { try apple.verify(clients: []) }
    #expect(try apple.verify([("aud", ["com.example.app"])]).clientID == "com.example.app")
  }

  @Test("RULES §2.1: sixty seconds of skew, ten minutes of age, whatever the token's life")
  func times() throws {
    for life: Int64 in [600, 86_400] {
      let exp: (String, JSONValue?) = ("exp", .integer(now + life))
      for age: Int64 in [-60, 0, 599, 600] { _ = try apple.verify([exp], now: now + age) }
      #expect(throws: AppleTokenError.fromTheFuture(issuedAt: now, now: now - 61)) {
        try apple.verify([exp], now: now - 61)
      }
      #expect(throws: AppleTokenError.tooOld(age: 601, limit: 600)) {
        try apple.verify([exp], now: now + 601)
      }
    }
    let short: (String, JSONValue?) = ("exp", .integer(now + 10))
    _ = try apple.verify([short], now: now + 69)
    #expect(throws: AppleTokenError.expired(at: now + 10, now: now + 70)) {
      try apple.verify([short], now: now + 70)
    }
    for time in [Int64.min, -1, 0, Int64.max] {
      #expect(throws: AppleTokenError.self) { try apple.verify(now: time) }
    }
  }

  @Test("RULES §2.1: a token with events is never an identity token, whatever they are")
  func events() {
    for events: JSONValue in [.null, "", "{}", [:], [], 1] {
      #expect(throws: AppleTokenError.isNotification) { try apple.verify([("events", events)]) }
    }
  }

  @Test("RULES §2.2: a code must be the one that c_hash names, and without one it is not exchanged")
  func codes() throws {
    let code = "c9b331c8564354632b621ad38cd844368.0.rrqrr.HzdH1_g5XZ3Yf16j1YjaBA"
    let hash: (String, JSONValue?) = ("c_hash", "UrZQpZpAgWqc-KmReuY74g")
    #expect(try apple.verify([hash], code: code).belongs(code))
    #expect(throws: AppleTokenError.codeHash) { try apple.verify([hash], code: code + "x") }
    #expect(throws: AppleTokenError.codeHash) { try apple.verify([hash], code: "") }
    let without = try apple.verify(code: code)
    #expect(!without.belongs(code) && !without.belongs(""))
    #expect(try !apple.verify([hash]).belongs("other"))
  }

  @Test("RULES §2.2: the exchanged token is about the same issuer, subject and audience")
  func exchanged() throws {
    let both = IdentityTokenVerifier(
      clients: [TestApple.native, TestApple.web],
      issuers: ["https://appleid.apple.com", "https://account.apple.com"])
    let first = try apple.verify()
    func check(_ changes: [(String, JSONValue?)], at time: Int64 = now, key: RSA.PublicKey? = nil) throws {
      // It has no nonce of ours, and it may be a little older.
      try both.verifyExchanged(
        apple.token(TestApple.claims([("nonce", nil), ("at_hash", "x")] + changes)),
        key: key ?? apple.key.publicKey, for: first, now: time)
    }
    try check([])
    try check([], at: now + 700)
    #expect(throws: AppleTokenError.exchangeMismatch(claim: "iss")) {
      try check([("iss", "https://account.apple.com")])
    }
    #expect(throws: AppleTokenError.exchangeMismatch(claim: "sub")) { try check([("sub", "000000.a.0000")]) }
    #expect(throws: AppleTokenError.exchangeMismatch(claim: "aud")) {
      try check([("aud", .string(TestApple.web.clientID))])
    }
    #expect(throws: AppleTokenError.signature) { try check([], key: apple.other.publicKey) }
    #expect(throws: AppleTokenError.isNotification) { try check([("events", "{}")]) }
    #expect(throws: AppleTokenError.self) { try check([], at: now + 86_460) }
  }

  @Test("the header has RS256 and a kid, before any key is looked up")
  func headers() throws {
    func parse(_ header: JSONValue) throws -> AppleToken {
      try AppleToken(
        parsing: JWS.compact(header: header, payload: TestApple.claims().bytes) {
          try apple.key.signature(for: $0)
        })
    }
    #expect(try parse(["kid": "a", "alg": "RS256", "typ": "JWT"]).kid == "a")
    for name in ["none", "HS256", "ES256", "RS512", "PS256", "rs256", ""] {
      #expect(throws: AppleTokenError.algorithm(received: name)) {
        try parse(["kid": "a", "alg": .string(name)])
      }
    }
    #expect(throws: AppleTokenError.noKeyID) { try parse(["alg": "RS256"]) }
    #expect(throws: AppleTokenError.noKeyID) { try parse(["kid": "", "alg": "RS256"]) }
    #expect(throws: AppleTokenError.malformed(.critical)) {
      try parse(["kid": "a", "alg": "RS256", "crit": []])
    }
    #expect(throws: AppleTokenError.malformed(.tooLarge)) {
      try AppleToken(parsing: String(repeating: "a", count: 8_193))
    }
    let token = try apple.token(["iss": "x"])
    #expect(throws: AppleTokenError.signature) { _ = try token.claims(key: apple.other.publicKey) }
    for payload in ["", "[]", "null", #"{"sub":"a","sub":"b"}"#, #"{"sub":"a","\u0073ub":"b"}"#] {
      let text = try JWS.compact(header: ["kid": "a", "alg": "RS256"], payload: Array(payload.utf8)) {
        try apple.key.signature(for: $0)
      }
      #expect(throws: AppleTokenError.malformed(.payload), "\(payload)") {
        try AppleToken(parsing: text).claims(key: apple.key.publicKey)
      }
    }
  }

  @Test("a refusal names what came and what is configured, printable and cut")
  func descriptions() {
    let error = AppleTokenError.audience(received: ["host.exp.Exponent"], configured: ["com.example.app"])
    #expect("\(error)" == #"made for the client "host.exp.Exponent"; configured: "com.example.app""#)
    let hostile = String(repeating: "\u{1B}[31m", count: 100)
    #expect(!"\(AppleTokenError.issuer(received: hostile, accepted: []))".contains("\u{1B}"))
    #expect("\(AppleTokenError.unknownKey(kid: hostile))".count < 200)
    #expect("\(AppleTokenError.expired(at: .min, now: .max))".contains("expired"))
  }
}
