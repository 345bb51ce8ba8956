import Accounts
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// `POST /attest/v1/keys`: registers a key by its attestation.
struct KeysRoute: Endpoint {
  /// An attestation of 16 KiB, a token of DeviceCheck and the rest in base64.
  static let bodyLimit = 32_768

  let method = HTTPMethod.post
  let path = AttestTargets.keys
  let environment: Environment
  let challenges: ChallengeKeys
  let registrar: KeyRegistrar
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard request.fields["content-encoding"] == nil else { throw Failure.contentEncoding }
    let body = try await request.body.collect(upTo: Self.bodyLimit)
    guard let registration = Registration(body: body), registration.keyID.count == 32 else {
      throw Failure.invalidRequest("The body has key_id (32 octets), attestation and challenge, in base64.")
    }
    let now = exchange.startedAt
    let challenge = try await challenges.verify(registration.challenge, .registration, now: now)
    // Only what has a challenge of ours counts, so that nobody is locked out by a stranger behind his address
    // who sends nonsense.
    try await limiter.require(exchange.address, now: environment.uptime())
    let verdict = await registrar.verdict {
      $0.verdict(registration, challenge: challenge, now: now / 1000)
    }
    let (key, receipt) = try await registrar.accepted(verdict, of: registration.keyID, exchange)
    let address = exchange.origin().address
    let outcome = try await registrar.register(key, deviceToken: registration.deviceToken, &exchange) {
      try await environment.keys.register(
        key, receipt: receipt, challenge: challenge.random, challengeExpiry: challenge.expiry, from: address)
    }
    let next = try await challenges.mint(.request, now: exchange.startedAt)
    exchange.answerFields[AttestFields.nextChallenge] = Base64.encodeURL(next.bytes)
    return .json(
      RegistrationAnswer(keyID: key.keyID).json, status: outcome == .created ? 201 : 200)
  }
}
