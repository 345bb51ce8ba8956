import Admission
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// `POST /attest/v1/token`: an assertion under the token tag buys a session token (RULES §1.8).
struct TokenRoute: Endpoint {
  static let bodyLimit = 4_096
  /// Live tokens a key.
  static let atMost = 2

  let method = HTTPMethod.post
  let path = AttestTargets.token
  let environment: Environment
  let challenges: ChallengeKeys
  let verifier: EvidenceVerifier
  let admitter: Admitter
  /// The routes whose policy takes a session token.
  let routes: [String]
  /// Routes that every session token opens beside those: they cost nothing.
  let free: [String]
  /// nil where there are no accounts.
  let bearers: BearerCheck?

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let now = exchange.startedAt
    let next = try await challenges.mint(.request, now: now)
    exchange.answerFields[AttestFields.nextChallenge] = Base64.encodeURL(next.bytes)
    guard request.fields["content-encoding"] == nil else { throw Failure.contentEncoding }
    let begun = try await verifier.beginAssertion(
      PresentedEvidence(request.fields), .tokenExchange, now: now)
    let body = try await request.body.collect(upTo: Self.bodyLimit)
    let verified = try verifier.finish(begun, of: request, body: body)
    guard let asked = SessionRequest(body: body) else {
      throw Failure.invalidRequest("The body is empty, or has routes: a list of route templates.")
    }
    let opened = asked.routes.isEmpty ? routes : asked.routes
    guard !opened.isEmpty, opened.allSatisfy(routes.contains) else {
      throw Failure.invalidRequest("No such route takes a session token.")
    }
    let token = Token.session(random: environment.random(32))
    let user = try await bearers?.user(of: request, verified, admitter.plan, now: now)
    let lifetime = environment.configuration.attest.sessionLifetime
    let session = SessionToken(
      hash: Token.hash(token), routes: opened + free, expiry: now / 1000 + lifetime,
      session: user?.session)
    let admitted = environment.now()
    let charges = admitter.plan.charges(
      .refused, evidence: verified.evidence, address: exchange.address, now: admitted)
    let admission = admitter.request(
      verified, exchange, now: admitted, charges: charges, lease: nil, user: user)
    let ledger = environment.ledger
    _ = try await admitter.judged(verified, &exchange) {
      try await ledger.issueSession(admission, token: session, atMost: Self.atMost)
    }
    return .json(SessionAnswer(token: token, expiresIn: lifetime).json)
  }
}
