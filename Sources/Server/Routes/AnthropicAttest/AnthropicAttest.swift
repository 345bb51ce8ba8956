import Admission
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// What the three routes of Anthropic's App Attest flow share. They stand below Anthropic's own paths, so that an app
/// with `ClaudeForFoundationModels` needs another base URL and nothing else (RULES §1.11).
struct AnthropicAttest: Sendable {
  static let challenge = "/ai/anthropic/v1/oauth/app-attest/challenge"
  static let register = "/ai/anthropic/v1/oauth/app-attest/register"
  static let token = "/ai/anthropic/v1/oauth/token"
  static let all = [challenge, register, token]

  let environment: Environment
  let mints: any TokenMintStore
  let challenges: ChallengeKeys
  /// By client id.
  let clients: [String: AnthropicClient]
  /// What the tokens open.
  let routes: [String]

  /// nil where no app has a client id, or Anthropic's routes take no session token: the routes are not there then,
  /// which is what its client understands.
  init?(_ environment: Environment, challenges: ChallengeKeys, paths: [String], free: [String]) {
    let configuration = environment.configuration
    let clients = configuration.attest.apps.compactMap { app in
      app.clientID.map { AnthropicClient(id: $0, appID: app.appID) }
    }
    guard !clients.isEmpty, configuration.anthropic?.policy == .session, let mints = environment.tokenMints
    else { return nil }
    self.environment = environment
    self.mints = mints
    self.challenges = challenges
    self.clients = Dictionary(clients.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    routes = paths + free
  }

  /// Which app speaks, with which key. Throws a ``Failure``.
  func caller(_ clientID: String?, _ keyID: String?) throws(Failure) -> (
    client: AnthropicClient, keyID: [UInt8]
  ) {
    guard let clientID, let client = clients[clientID] else {
      throw .invalidRequest("client_id is that of an app of this server.")
    }
    guard let keyID, keyID.utf8.count <= 64, let octets = Base64.decode(keyID), octets.count == 32 else {
      throw .invalidRequest("key_id is 32 octets in base64.")
    }
    return (client, octets)
  }

  /// How many tokens the key has minted.
  func minted(_ keyID: [UInt8]) async throws -> Int64 {
    try await storage { try await mints.mints(of: keyID) }
  }

  /// Asks `step` with every challenge that may have been signed, and once more with those of secrets that another node
  /// has made; nil where none holds.
  func found<Value>(
    _ client: AnthropicClient, _ keyID: [UInt8], mints: Int64, now: Int64,
    by step: ([[UInt8]]) async throws -> Value?
  ) async throws -> Value? {
    for isSecondTry in [false, true] {
      let challenges = try await challenges.derivable(
        client, keyID, mints: mints, now: now, isSecondTry: isSecondTry)
      if challenges.isEmpty { return nil }
      if let value = try await step(challenges) { return value }
    }
    return nil
  }

  /// A new token, as the client gets it and as the database has it.
  func token() -> (text: String, row: SessionToken) {
    let text = Token.session(random: environment.random(32))
    let expiry = environment.now() / 1000 + environment.configuration.attest.sessionLifetime
    return (text, SessionToken(hash: Token.hash(text), routes: routes, expiry: expiry))
  }

  /// The answer that carries a token, and the challenge of the next one, which saves a round trip.
  func answer(
    _ token: String, _ client: AnthropicClient, _ keyID: [UInt8], mints: Int64
  ) async throws -> HTTPResponse {
    let (challenge, expiresIn) = try await challenges.derived(
      client, keyID, mints: mints, now: environment.now())
    return .json([
      "access_token": .string(token), "token_type": "Bearer",
      "expires_in": .integer(environment.configuration.attest.sessionLifetime),
      "next_challenge": .string(Base64.encode(challenge)), "next_challenge_expires_in": .integer(expiresIn),
    ])
  }
}
