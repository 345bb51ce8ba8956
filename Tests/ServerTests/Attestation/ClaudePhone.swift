import AppAttest
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages

@testable import Server

/// A phone whose app speaks Anthropic's App Attest flow, as `ClaudeForFoundationModels` does, and every step of which
/// the test can bend.
struct ClaudePhone: Sendable {
  static let client = "clid_example"
  static let grantType = "urn:anthropic:params:oauth:grant-type:app-attest"

  let server: WholeServer
  let device: SimulatedDevice
  let keyID: String
  var client = ClaudePhone.client
  var address = "192.0.2.1"

  var key: [UInt8] { Base64.decode(keyID) ?? [] }

  /// A server with an app that has a client id.
  static func server(
    on other: WholeServer? = nil, _ change: (inout Configuration) -> Void = { _ in }
  ) async throws -> WholeServer {
    try await WholeServer(
      {
        $0.attest.apps = [.init(appID: WholeServer.app.id, environments: [.production], clientID: client)]
        change(&$0)
      }, sharing: other)
  }

  init(_ server: WholeServer, app: SimulatedApp = WholeServer.app) async throws {
    let clock = server.clock
    self.server = server
    device = try SimulatedDevice(authority: server.authority, app: app, now: { clock.seconds })
    keyID = try await device.generateKey()
  }

  init(_ server: WholeServer, device: SimulatedDevice, keyID: String) {
    self.server = server
    self.device = device
    self.keyID = keyID
  }

  func post(_ path: String, _ body: [UInt8], _ type: String = "application/json") async throws -> HTTPResponse
  {
    try await server.send(
      HTTPRequest(
        method: .post, target: "/ai/anthropic/v1/oauth/\(path)", fields: ["content-type": type],
        body: HTTPBody(body), peer: address))
  }

  func post(_ path: String, _ body: JSONValue) async throws -> HTTPResponse {
    try await post(path, body.bytes)
  }

  func askChallenge() async throws -> HTTPResponse {
    try await post("app-attest/challenge", ["client_id": .string(client), "key_id": .string(keyID)])
  }

  func challenge() async throws -> [UInt8] {
    try await askChallenge().json["challenge"]?.string.flatMap(Base64.decode) ?? []
  }

  func attestation(_ challenge: [UInt8]) async throws -> [UInt8] {
    try await device.attestKey(keyID, clientDataHash: SHA256.hash(challenge))
  }

  func register(_ attestation: [UInt8]) async throws -> HTTPResponse {
    try await post(
      "app-attest/register",
      [
        "client_id": .string(client), "key_id": .string(keyID),
        "attestation_object": .string(Base64.encode(attestation)),
      ])
  }

  func register() async throws -> HTTPResponse { try await register(attestation(challenge())) }

  func assertion(_ challenge: [UInt8], client: String? = nil) async throws -> [UInt8] {
    let bytes = Array("anthropic-app-attest-token-v1".utf8) + challenge + (client ?? self.client).utf8 + key
    return try await device.generateAssertion(keyID, clientDataHash: SHA256.hash(bytes))
  }

  func form(_ assertion: [UInt8]) -> FormParameters {
    FormParameters([
      ("assertion", Base64.encode(assertion)), ("client_id", client), ("grant_type", Self.grantType),
      ("key_id", keyID),
    ])
  }

  func exchange(_ form: FormParameters) async throws -> HTTPResponse {
    try await post("token", Array(form.text.utf8), "application/x-www-form-urlencoded")
  }

  func exchange(_ challenge: [UInt8]) async throws -> HTTPResponse {
    try await exchange(form(assertion(challenge)))
  }

  /// Asks as its client does.
  func ask(_ token: String, target: String = Phone.messages) async throws -> HTTPResponse {
    let body: JSONValue = [
      "model": "claude-haiku-4-5", "max_tokens": 16_000, "stream": true,
      "cache_control": ["type": "ephemeral"], "output_config": ["effort": "low"],
      "messages": [["role": "user", "content": "hello"]],
    ]
    return try await server.send(
      HTTPRequest(
        method: .post, target: target,
        fields: [
          "content-type": "application/json", "anthropic-version": "2023-06-01",
          "authorization": "Bearer \(token)",
        ], body: HTTPBody(body.bytes), peer: address))
  }
}

/// What a registration or an exchange gives.
struct ClaudeGrant: Sendable {
  let token: String
  let expiresIn: Int
  let next: [UInt8]
  let nextExpiresIn: Int

  init(_ response: HTTPResponse) async throws {
    let json = try await response.json
    token = json["access_token"]?.string ?? ""
    expiresIn = Int(json["expires_in"]?.integer ?? 0)
    next = json["next_challenge"]?.string.flatMap(Base64.decode) ?? []
    nextExpiresIn = Int(json["next_challenge_expires_in"]?.integer ?? 0)
  }
}
