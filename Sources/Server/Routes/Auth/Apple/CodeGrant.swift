import Accounts
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages

/// `grant_type=pkce`: the end of a sign-in in a browser. Here alone an account is made, found or linked, and only
/// for who holds the verifier (RULES §3.1).
struct CodeGrant: Sendable {
  let service: AccountService

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await AccountBody(of: request)
    guard let code = try body.text("auth_code"), let verifier = try body.text("code_verifier") else {
      throw Failure.validation("invalid request: both auth code and code verifier should be non-empty")
    }
    guard let apple = service.apple else { throw Failure.flowStateNotFound }
    let completed = try await storage {
      try await service.ports.webFlows.peek(SHA256.hash(code))
    }
    guard let completed else { throw Failure.flowStateNotFound }
    let flow = completed.flow
    guard !flow.isExpired(at: service.environment.now()) else { throw Failure.flowStateExpired }
    let challenge = flow.isS256 ? Base64.encodeURL(SHA256.hash(verifier)) : verifier
    guard let expected = flow.codeChallenge,
      ConstantTime.equal(Array(challenge.utf8), Array(expected.utf8))
    else {
      throw Failure(
        400, .badCodeVerifier, "code challenge does not match previously saved code verifier")
    }
    let keyID = try await service.evidence.keyID(request, body: body.octets, &exchange)
    var assertion = completed.assertion
    assertion.requestHash = SHA256.hash(body.octets)
    return try await IdentitySteps(service: service).answer(
      assertion, linkingTo: flow.linking, keyID: keyID, origin: exchange.origin(),
      stored: { await apple.exchange.keep(completed.token, of: $0) })
  }
}

extension Failure {
  static let flowStateNotFound = Failure(
    404, .flowStateNotFound, "invalid flow state, no valid flow state found")
  static let flowStateExpired = Failure(
    422, .flowStateExpired, "invalid flow state, flow state has expired")
}
