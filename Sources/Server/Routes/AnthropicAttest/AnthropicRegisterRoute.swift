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
    try await limiter.require(exchange.address, now: flow.environment.uptime())
    // A key that is not known has minted nothing, and registers once: that is the single use of its challenge.
    if try await storage({ try await flow.mints.isKnown(keyID) }) { throw Failure.keyIsRegistered }
    let verdict = try await verdict(attestation, client, keyID, now: exchange.startedAt)
    let (key, receipt) = try await registrar.accepted(verdict, of: keyID, exchange)
    let token = flow.token()
    let address = exchange.origin().address
    let outcome = try await registrar.register(key, deviceToken: nil, &exchange) {
      switch try await flow.mints.register(key, receipt: receipt, token: token.row, from: address) {
      case .created: .created
      case .alreadyRegistered, .conflict, .challengeUsed, .revoked: .alreadyRegistered
      }
    }
    guard outcome == .created else { throw Failure.keyIsRegistered }
    return try await flow.answer(token.text, client, keyID, mints: 1)
  }

  private func verdict(
    _ attestation: [UInt8], _ client: AnthropicClient, _ keyID: [UInt8], now: Int64
  ) async throws -> RegistrationVerdict {
    var refusal = RegistrationVerdict.refused(.challengeInvalid)
    let found = try await flow.found(client, keyID, mints: 0, now: now) {
      challenges -> RegistrationVerdict? in
      let hashes = challenges.map { AnthropicClient.registrationHash($0) }
      let verdict = await registrar.verdict {
        $0.verdict(attestation, of: keyID, for: hashes, now: now / 1000)
      }
      guard case .verified(let key, _) = verdict else {
        refusal = verdict
        return nil
      }
      return key.appID == client.appID ? verdict : .refused(.appMismatch)
    }
    return found ?? refusal
  }
}
