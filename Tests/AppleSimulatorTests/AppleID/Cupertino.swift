import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

/// A simulated Apple with a developer's side that talks to it by this package's own rules.
struct Cupertino {
  static let team = "TEAM123456"
  static let app = "com.example.app"
  static let site = "com.example.web"
  static let callback = "https://api.example.com/auth/v1/callback"
  static let raw = "a raw value"
  /// Making keys takes a while; all tests share them.
  static let keys = (0..<3).compactMap { _ in try? SimulatedAppleKey() }

  let clock = FixedClock(seconds: 1_800_000_000)
  let apple: SimulatedAppleID
  let signing: AppleSigningKey
  let teamKey: SimulatedTeamKey
  let requests = AppleRequests()
  let clients = [
    AppleClient(clientID: app, kind: .native, teamID: team),
    AppleClient(clientID: site, kind: .web, teamID: team),
  ]
  var now: Int64 { clock.seconds }

  init() async throws {
    let clock = clock
    apple = try SimulatedAppleID(
      clients: [
        SimulatedAppleClient(clientID: Self.app, kind: .native, teamID: Self.team),
        SimulatedAppleClient(
          clientID: Self.site, kind: .web, teamID: Self.team, redirectURIs: [Self.callback]),
        SimulatedAppleClient(clientID: "com.other.app", kind: .native, teamID: "OTHERTEAM1"),
      ], keys: Array(Self.keys.prefix(2)), now: { clock.seconds }, sleep: { try await Task.sleep(for: $0) })
    teamKey = try await apple.makeKey(team: Self.team)
    signing = AppleSigningKey(
      teamID: Self.team, keyID: teamKey.keyID, key: try ApplePrivateKey.read(teamKey.p8))
  }

  func secret(_ client: String = app) throws -> ClientSecret {
    try signing.clientSecret(for: client, now: now)
  }

  /// A sign-in on a device, with the nonce as an app makes it.
  func signIn(
    _ account: String = "ada@example.com", scopes: Set<SimulatedScope> = [.name, .email],
    hidesEmail: Bool = false
  ) async throws -> SimulatedAuthorization {
    try await apple.signIn(
      account: account, client: Self.app, nonce: Hex.encode(SHA256.hash(Self.raw)), scopes: scopes,
      hidesEmail: hidesEmail)
  }

  /// Asks Apple for its keys, as a server does.
  func published() async throws -> [String: RSA.PublicKey] {
    let answer = try await answer(requests.keys())
    return try AppleAnswer.keys(status: answer.status, fields: answer.fields, body: answer.body).rsa
  }

  func verify(_ text: String, code: String? = nil) async throws -> AppleIdentity {
    let token = try AppleToken(parsing: text)
    let key = try #require(try await published()[token.kid])
    return try IdentityTokenVerifier(clients: clients).verify(
      token, key: key, nonce: .challenge(Self.raw), code: code, now: now)
  }

  func verify(_ notification: SimulatedNotification) async throws -> AppleNotification {
    let token = try AppleToken(parsing: notification.token)
    let key = try #require(try await published()[token.kid])
    return try NotificationVerifier(clients: clients).verify(token, key: key, now: now)
  }

  func answer(_ request: HTTPRequest) async throws -> (status: Int, fields: HTTPFields, body: [UInt8]) {
    let response = try await apple.respond(to: request)
    return (response.status, response.fields, try await response.body.collect(upTo: 1 << 20))
  }

  func tokens(_ request: HTTPRequest) async throws -> AppleTokens {
    let answer = try await answer(request)
    return try AppleAnswer.tokens(status: answer.status, fields: answer.fields, body: answer.body)
  }

  /// What Apple says to a form that is not one of this package's.
  func post(_ target: String, _ form: [(String, String)], type: String = "application/x-www-form-urlencoded")
    async throws -> JSONNode?
  {
    let answer = try await answer(
      HTTPRequest(
        method: .post, target: target, fields: ["content-type": type],
        body: HTTPBody(FormParameters(form).text)))
    return try? JSONReader.read(answer.body)
  }

  func exchanged(_ granted: SimulatedAuthorization) async throws -> AppleTokens {
    let identity = try await verify(granted.identityToken, code: granted.authorizationCode)
    return try await tokens(
      requests.exchange(
        code: granted.authorizationCode, of: identity, redirectURI: nil, secret: secret()))
  }
}
