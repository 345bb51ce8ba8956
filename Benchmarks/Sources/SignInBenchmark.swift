import Accounts
import Cryptography
import Encodings
import Foundation
import SQL
import SignInWithApple
import Stores
import System

extension Benchmarks {
  /// Sign-ins by identity token a second on one core, durably on SQLite's file, against that core's cryptography:
  /// Apple's signature verified and an access token signed.
  static func signIns() throws {
    print(
      "== sign-ins by identity token a second on one core, 64 at once, without HTTP and without Apple; "
        + "the limit is that core's RS256 verifications with ES256 signatures")
    try onOneCore("signing-in")
  }

  /// What the process on that core does.
  static func signingIn(_ directory: String) async throws {
    let work = try SignInWork()
    for (name, users) in [("first sign-ins", 6_400), ("sign-ins of 1,000 users", 1_000)] {
      let database = try Database(.file("\(directory)/\(users).sqlite"))
      try await Schema.migrate(database, now: WallClock.seconds)
      let store = SQLAccountStore(database)
      // Whoever signs in again has an account already.
      if users < SignInWork.count {
        _ = try await work.rate(try work.tokens(users: users, count: users), store)
      }
      let tokens = try work.tokens(users: users, count: SignInWork.count)
      let before = try work.limit(for: 1)
      let rate = try await work.rate(tokens, store)
      let limit = (before + (try work.limit(for: 1))) / 2
      let rule = try work.judged(tokens[0], for: 1)
      database.close()
      print(
        "\(name): \(format(rate, 0))/s, limit \(format(limit, 0))/s, ratio \(format(rate / limit)); "
          + "the rule of identity tokens alone \(format(rule, 0))/s, "
          + "bare RS256 \(format(try work.verifications(tokens[0], for: 1), 0))/s")
    }
  }
}

/// A server's work on sign-ins.
private struct SignInWork: Sendable {
  static let count = 6_400
  private static let raw = "a raw value"

  private let apple: RSA.PrivateKey
  private let key: P256.PrivateKey
  private let tokens = RefreshTokens(
    secrets: [RefreshSecret(id: 1, secret: Cryptography.SecureRandom.bytes(32))])
  private let verifier = IdentityTokenVerifier(
    clients: [AppleClient(clientID: "com.example.app", kind: .native, teamID: "TEAM000001")])

  init() throws {
    apple = try RSA.PrivateKey()
    key = try P256.PrivateKey()
  }

  /// Fresh identity tokens, each of another text, as Apple's are.
  func tokens(users: Int, count: Int) throws -> [String] {
    let now = WallClock.seconds
    let nonce = Hex.encode(SHA256.hash(Self.raw))
    return try (0..<count).map { number in
      let user = number % users
      let subject = "001026.\(Hex.encode(SHA256.hash("\(user)").prefix(16))).1744"
      let claims: JSONValue = [
        "iss": "https://appleid.apple.com", "aud": "com.example.app", "exp": .integer(now + 86_400),
        "iat": .integer(now), "sub": .string(subject), "nonce": .string(nonce),
        "c_hash": .string(TokenHash.half(of: "\(users) \(number) \(count)")),
        "email": .string("\(user)@privaterelay.appleid.com"), "email_verified": true,
        "is_private_email": true, "auth_time": .integer(now), "nonce_supported": true, "real_user_status": 2,
      ]
      return try RS256.sign(claims, kid: "E6q83RB15n", key: apple)
    }
  }

  /// Sign-ins a second, 64 clients at once.
  func rate(_ texts: [String], _ store: SQLAccountStore) async throws -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<64 {
        group.addTask {
          for index in stride(from: client, to: texts.count, by: 64) { try await signIn(texts[index], store) }
        }
      }
      try await group.waitForAll()
    }
    return Double(texts.count) / (Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9)
  }

  private func signIn(_ text: String, _ store: SQLAccountStore) async throws {
    let identity = try judge(text)
    let now = WallClock.milliseconds
    let assertion = IdentityAssertion(
      teamID: identity.teamID, subject: identity.subject, clientID: identity.clientID,
      issuer: identity.issuer, issuedAt: identity.issuedAt * 1_000, expiresAt: identity.expiresAt * 1_000,
      authTime: identity.authTime.map { $0 * 1_000 }, email: identity.email,
      isEmailVerified: identity.isEmailVerified, isPrivateEmail: identity.isPrivateEmail,
      tokenHash: identity.tokenHash, requestHash: identity.tokenHash)
    let open = try await store.signIn(
      IdentitySignIn(
        assertion, user: try Self.id(), identity: try Self.id(), session: try Self.id(),
        policy: SignInPolicy(), now: now)
    ).get()
    let claims = AccessTokenClaims(issuer: "https://bench.example/auth/v1", open, lifetime: 3_600, now: now)
    guard tokens.current(of: open.session) != nil, claims.fits else { throw BenchmarkError("no token") }
    _ = try ES256.sign(claims.json, kid: "bench", key: key)
  }

  private func judge(_ text: String) throws -> AppleIdentity {
    try verifier.verify(
      AppleToken(parsing: text), key: apple.publicKey, nonce: .clientNonce(Self.raw), now: WallClock.seconds)
  }

  func judged(_ text: String, for seconds: Double) throws -> Double {
    try Benchmarks.perSecond(seconds) { _ = try judge(text) }
  }

  func verifications(_ text: String, for seconds: Double) throws -> Double {
    let token = try JWS.Compact(parsing: text)
    return try Benchmarks.perSecond(seconds) { try RS256.verify(token, key: apple.publicKey) }
  }

  /// A verification with a signature, a second.
  func limit(for seconds: Double) throws -> Double {
    let token = try JWS.Compact(parsing: try tokens(users: 1, count: 1)[0])
    return try Benchmarks.perSecond(seconds) {
      try RS256.verify(token, key: apple.publicKey)
      _ = try ES256.signature(for: token.signingInput, key: key)
    }
  }

  private static func id() throws -> Encodings.UUID {
    guard let id = Encodings.UUID(random: Cryptography.SecureRandom.bytes(16)) else {
      throw BenchmarkError("random octets")
    }
    return id
  }
}
