import Encodings
import HTTPMessages

/// `POST /ai/anthropic/v1/oauth/app-attest/challenge`: the challenge of a key, whether it is registered or not.
struct AnthropicChallengeRoute: Endpoint {
  static let bodyLimit = 4_096

  let method = HTTPMethod.post
  let path = AnthropicAttest.challenge
  let flow: AnthropicAttest
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await request.body.collect(upTo: Self.bodyLimit)
    let node = try? JSONReader.read(body)
    let (client, keyID) = try flow.caller(node?["client_id"]?.string, node?["key_id"]?.string)
    try await limiter.require(exchange.address, now: flow.environment.uptime())
    let (challenge, expiresIn) = try await flow.challenges.derived(
      client, keyID, mints: flow.minted(keyID), now: exchange.startedAt)
    return .json(["challenge": .string(Base64.encode(challenge)), "expires_in": .integer(expiresIn)])
  }
}
