import Accounts
import Admission
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// `POST /ai/anthropic/v1/oauth/app-attest/register`: registers a key by its attestation, and answers with its first
/// token. A key that is known is refused with 401, as everything that its client cannot tell apart (RULES §1.11).
struct AnthropicRegisterRoute: Endpoint {
  static let bodyLimit = 32_768

  let method = HTTPMethod.post
  let path = AnthropicAttest.register
  let flow: AnthropicAttest
  let registrar: KeyRegistrar
  /// Of this route alone: whether the challenge is ours is known only after the work that the limit is for, so that a
  /// stranger behind the same address could use it up.
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard request.fields["content-encoding"] == nil else { throw Failure.contentEncoding }
    let body = try await request.body.collect(upTo: Self.bodyLimit)
    let node = try? JSONReader.read(body)
    let (client, keyID) = try flow.caller(node?["client_id"]?.string, node?["key_id"]?.string)
    guard let attestation = node?["attestation_object"]?.string.flatMap(Base64.decode) else {
      throw Failure.invalidRequest("attestation_object is an attestation in base64.")
    }
    // A key that is not known has minted nothing, and registers once: that is the single use of its challenge.
    if try await storage({ try await flow.environment.keys.key(keyID) }) != nil {
      throw Failure.keyIsRegistered
    }
    try await limiter.require(exchange.address, now: flow.environment.uptime())
    let (key, receipt) = try await verified(attestation, client, keyID, exchange)
    guard key.appID == client.appID else { throw Failure.appMismatch }
    let token = flow.token()
    let address = exchange.origin().address
    let outcome = try await registrar.register(key, deviceToken: nil, &exchange) {
      try await flow.mints.register(key, receipt: receipt, token: token.row, from: address)
    }
    guard outcome == .created else { throw Failure.keyIsRegistered }
    return try await flow.answer(token.text, client, keyID, mints: 1)
  }

  private func verified(
    _ attestation: [UInt8], _ client: AnthropicClient, _ keyID: [UInt8], _ exchange: Exchange
  ) async throws -> (key: DeviceKey, receipt: [UInt8]) {
    let now = exchange.startedAt
    var refusal: Failure?
    let found = try await flow.found(client, keyID, mints: 0, now: now) { challenges in
      let hashes = challenges.map { AnthropicClient.registrationHash($0) }
      do {
        return try await registrar.verified(keyID, exchange) {
          $0.verdict(attestation, of: keyID, for: hashes, now: now / 1000)
        }
      } catch let failure as Failure where failure.code == .attestationInvalid {
        refusal = failure
        return nil
      }
    }
    guard let found else { throw refusal ?? Failure.challengeInvalid }
    return found
  }
}
