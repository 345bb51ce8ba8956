import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Cryptography
import Encodings
import Gateway
import HTTPMessages
import Stores

@testable import Server

/// A simulated phone whose every step the test can bend.
struct Phone: Sendable {
  static let messages = "/ai/anthropic/v1/messages"

  let server: WholeServer
  let device: SimulatedDevice
  let keyID: String
  var audience = WholeServer.audience

  var key: [UInt8] { Base64.decode(keyID) ?? [] }

  init(_ server: WholeServer, app: SimulatedApp = WholeServer.app) async throws {
    let clock = server.clock
    try await self.init(
      server,
      device: SimulatedDevice(authority: server.authority, app: app, now: { clock.seconds }))
  }

  init(_ server: WholeServer, device: SimulatedDevice, keyID: String) {
    self.server = server
    self.device = device
    self.keyID = keyID
  }

  init(_ server: WholeServer, device: SimulatedDevice) async throws {
    self.server = server
    self.device = device
    keyID = try await device.generateKey()
  }

  /// The registration of its key.
  func registration(flaw: SimulatedFlaw? = nil, challenge: String? = nil) async throws -> HTTPRequest {
    let text = if let challenge { challenge } else { try await server.challenge("registration") }
    let hash = SHA256.hash(
      SignedBytes.registration(audience: audience, challenge: Base64.decode(text) ?? []))
    var attestation = try await device.attestKey(keyID, clientDataHash: hash)
    if let flaw { attestation = try await device.attestation(of: keyID, flaw: flaw) }
    return HTTPRequest(
      method: .post, target: AttestTargets.keys,
      body: HTTPBody(Registration(keyID: key, attestation: attestation, challenge: text).json.bytes),
      peer: "192.0.2.1")
  }

  func register() async throws -> HTTPResponse { try await server.send(try await registration()) }

  /// A request for Claude.
  static func question(
    _ text: String = "hello", model: String = "claude-haiku-4-5", stream: Bool = false, maxTokens: Int = 64,
    target: String = messages
  ) -> HTTPRequest {
    let body: JSONValue = [
      "model": .string(model), "max_tokens": .integer(maxTokens), "stream": .bool(stream),
      "messages": [["role": "user", "content": .string(text)]],
    ]
    return HTTPRequest(
      method: .post, target: target,
      fields: ["content-type": "application/json", "anthropic-version": "2023-06-01"],
      body: HTTPBody(body.bytes), peer: "192.0.2.1")
  }

  /// Signs a request; `token` with the tag of the token exchange.
  func sign(_ request: HTTPRequest, challenge: String? = nil, token: Bool = false) async throws -> HTTPRequest
  {
    let text =
      if let challenge { challenge } else { try await server.challenge(token ? "token" : "request") }
    let body = try await request.body.collect(upTo: 1 << 24)
    let make = token ? SignedBytes.tokenExchange : SignedBytes.request
    let bytes = make(
      audience, Base64.decode(text) ?? [], request.method.rawValue, request.target,
      SHA256.hash(request.fields["authorization"] ?? ""), SHA256.hash(body))
    let assertion = try await device.generateAssertion(keyID, clientDataHash: SHA256.hash(bytes))
    var signed = request
    signed.fields[AttestFields.keyID] = keyID
    signed.fields[AttestFields.assertion] = Base64.encode(assertion)
    signed.fields[AttestFields.challenge] = text
    return signed
  }

  /// Signs and sends.
  func ask(_ text: String = "hello", stream: Bool = false) async throws -> HTTPResponse {
    try await server.send(try await sign(Self.question(text, stream: stream)))
  }

  /// Buys a session token.
  func token(_ body: String = "") async throws -> HTTPResponse {
    try await server.send(
      try await sign(
        HTTPRequest(method: .post, target: AttestTargets.token, body: HTTPBody(body), peer: "192.0.2.1"),
        token: true))
  }
}

extension HTTPResponse {
  /// Status and code of an error in either envelope; the code is empty where there is none.
  var outcome: (status: Int, code: String) {
    get async throws {
      let body = try await body.collect(upTo: 1 << 22)
      return (status, status < 400 ? "" : ErrorAnswer(body: body).code?.rawValue ?? "")
    }
  }
}

/// A status and a code.
struct Outcome: Equatable, CustomStringConvertible {
  let status: Int
  let code: String

  init(_ status: Int, _ code: String = "") {
    self.status = status
    self.code = code
  }

  init(_ response: HTTPResponse) async throws {
    let outcome = try await response.outcome
    self.init(outcome.status, outcome.code)
  }

  var description: String { "\(status) \(code)" }
}
