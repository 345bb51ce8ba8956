import Accounts
import BramleyAPI
import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

/// `POST /auth/v1/apple/challenge` {`purpose`, `client_id`?}: a challenge to use as the nonce of Sign in with
/// Apple, once, within ten minutes, for that purpose. Native apps hand Apple its `nonce`, and this server the
/// `challenge`; on the web both are the challenge.
struct AppleChallengeRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.appleChallenge
  let service: AccountService
  let limiter: AddressLimiter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await AccountBody(of: request, isOptional: true)
    guard let apple = service.apple else { throw Failure.providerDisabled("https://appleid.apple.com") }
    let text = try body.text("purpose") ?? Accounts.ChallengePurpose.signIn.rawValue
    guard let purpose = Accounts.ChallengePurpose(rawValue: text) else {
      let all = Accounts.ChallengePurpose.allCases.map(\.rawValue).joined(separator: ", ")
      throw Failure.validation("purpose is one of \(all)")
    }
    let clientID = try body.text("client_id")
    if let clientID, !apple.apple.clients.contains(where: { $0.clientID == clientID }) {
      throw Failure.validation("client_id is none of the server's configuration")
    }
    if let wait = await limiter.admit(exchange.address, now: service.environment.uptime()) {
      throw Failure.overRequestRateLimit(nanoseconds: wait)
    }
    let now = service.environment.now()
    let session =
      purpose == .signIn ? nil : try await service.bearers.require(request, now: now).session.id
    let challenge = AppleSignIn.challenge(random: service.environment.random(32))
    let expiry = now + AppleSignIn.challengeLife
    let row = AppleChallenge(
      hash: SHA256.hash(challenge), purpose: purpose, clientID: clientID, session: session, expiresAt: expiry)
    try await storage { try await service.ports.appleTokens.add(row, now: now) }
    return .json([
      "challenge": .string(challenge), "nonce": .string(Hex.encode(SHA256.hash(challenge))),
      "expires_at": .integer(expiry / 1000),
    ])
  }
}
