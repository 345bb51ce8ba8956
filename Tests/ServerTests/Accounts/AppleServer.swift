import Accounts
import AppleSimulator
import Cryptography
import Encodings
import HTTPMessages
import SQL
import SignInWithApple
import Stores
import Testing

@testable import Server

/// A server with accounts beside a simulated Apple, and the app in between.
struct AppleServer: Sendable {
  static let team = "ABCDE12345"
  static let app = "com.example.app"
  static let web = "com.example.web"
  /// Making an RSA key takes longer than most tests.
  static let keys = (0..<2).compactMap { _ in try? SimulatedAppleKey() }
  static let redirect = "com.example.app://signed-in"
  static let ada = "ada@example.com"
  static let grace = "grace@example.com"

  let server: AccountServer
  let apple: SimulatedAppleID

  /// - Parameters:
  ///   - owned: what capabilities keep for users.
  ///   - instead: answers in Apple's place, where it does.
  ///   - outside: who answers webhooks and hooks.
  init(
    _ change: (inout Configuration) -> Void = { _ in }, hasKey: Bool = true, owned: [any OwnedData] = [],
    outside: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    on location: DatabaseLocation? = nil,
    instead: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse? = { _ in nil }
  ) async throws {
    let clock = WallOfTime()
    let apple = try SimulatedAppleID(
      clients: [
        SimulatedAppleClient(clientID: Self.app, kind: .native, teamID: Self.team),
        SimulatedAppleClient(clientID: "com.example.clip", kind: .native, teamID: Self.team),
        SimulatedAppleClient(
          clientID: Self.web, kind: .web, teamID: Self.team,
          redirectURIs: [WholeServer.audience + "/auth/v1/callback"]),
      ], keys: Self.keys, now: { clock.seconds }, sleep: { _ in })
    let key = try await apple.makeKey(team: Self.team)
    self.apple = apple
    server = try await AccountServer(
      {
        var configured = Configuration.Auth.Apple(
          teamID: Self.team,
          clients: [
            AppleClient(clientID: Self.app, kind: .native, teamID: Self.team),
            AppleClient(clientID: Self.web, kind: .web, teamID: Self.team),
          ])
        if hasKey {
          configured.keyID = key.keyID
          configured.privateKey = Secret(key.p8)
        }
        $0.auth?.apple = configured
        $0.auth?.siteURL = "https://example.com"
        $0.auth?.redirects = RedirectList([Self.redirect].compactMap { .init($0) })
        $0.auth?.sealingKeys = [
          .init(name: "test", key: Secret(Base64.encode([UInt8](repeating: 7, count: 32))))
        ]
        change(&$0)
      },
      apple: {
        if let response = try await instead($0) { return response }
        return try await apple.respond(to: $0)
      }, outside: outside, owned: owned, on: location)
    clock.follow(server.whole.clock)
  }

  /// What the app's sheet gives for a raw nonce; without one, the app makes it.
  func sheet(
    _ account: String = AppleServer.ada, raw: String? = nil, client: String = AppleServer.app
  ) async throws -> (raw: String, granted: SimulatedAuthorization) {
    let raw = raw ?? Hex.encode(SecureRandom.bytes(16))
    let granted = try await apple.signIn(
      account: account, client: client, nonce: Hex.encode(SHA256.hash(raw)))
    return (raw, granted)
  }

  /// The body of `grant_type=id_token`, as supabase-js writes it, with more members.
  static func body(
    _ sheet: (raw: String, granted: SimulatedAuthorization), _ more: [(String, JSONValue)] = []
  ) -> String {
    JSONValue.object(
      [
        ("provider", "apple"), ("id_token", .string(sheet.granted.identityToken)),
        ("nonce", .string(sheet.raw)), ("gotrue_meta_security", .object([])),
      ] + more
    ).text
  }

  func grant(_ body: String, bearer: String? = nil) async throws -> HTTPResponse {
    try await server.ask(.post, "/token?grant_type=id_token", body, bearer: bearer)
  }

  /// Signs in with a fresh sheet.
  func signIn(_ account: String = AppleServer.ada, _ more: [(String, JSONValue)] = []) async throws
    -> ClientSession
  {
    try await ClientSession(grant(Self.body(sheet(account), more)))
  }

  /// Links a fresh sheet's identity.
  func link(
    _ account: String = AppleServer.ada, to session: ClientSession, _ more: [(String, JSONValue)] = []
  ) async throws -> HTTPResponse {
    try await grant(
      Self.body(sheet(account), [("link_identity", true)] + more), bearer: session.accessToken)
  }

  /// Says what becomes of whom the session left behind.
  func leave(_ word: String, by session: ClientSession) async throws -> HTTPResponse {
    try await server.ask(
      .post, "/switch/leaving", #"{"leaving":"\#(word)"}"#, bearer: session.accessToken)
  }

  /// A challenge of the server's.
  func challenge(_ purpose: String, bearer: String? = nil) async throws -> HTTPResponse {
    try await server.ask(.post, "/apple/challenge", #"{"purpose":"\#(purpose)"}"#, bearer: bearer)
  }

  func stored() async throws -> [SealedAppleToken] {
    try await SQLAppleTokenStore(server.whole.database).due(now: .max, retryAt: 0, limit: 100)
  }
}

/// The users in a server's database.
func storedUsers(_ server: AccountServer) -> SQLUserStore { SQLUserStore(server.whole.database) }
