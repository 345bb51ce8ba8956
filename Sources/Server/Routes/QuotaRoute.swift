import Admission
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /attest/v1/quota`: what is left for the device that signs the question. It costs burst alone.
struct QuotaRoute: Endpoint {
  let method = HTTPMethod.get
  let path = AttestTargets.quota
  let environment: Environment
  let challenges: ChallengeKeys
  let verifier: EvidenceVerifier
  let admitter: Admitter

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let now = exchange.startedAt
    let next = try await challenges.mint(.request, now: now)
    exchange.answerFields[AttestFields.nextChallenge] = Base64.encodeURL(next.bytes)
    guard request.fields.values("content-encoding").isEmpty else { throw Failure.contentEncoding }
    let begun = try await verifier.beginAssertion(PresentedEvidence(request.fields), .request, now: now)
    let body = try await request.body.collect(upTo: 1024)
    let verified = try verifier.finish(begun, of: request, body: body)
    let admitted = try await admitter.admit(.refused, verified, &exchange, lease: nil)
    let charges = admitter.plan.standings(
      evidence: verified.evidence, address: exchange.address, now: now)
    let remaining = try await storage {
      try await environment.ledger.remaining(keyID: admitted.keyID ?? [], charges: charges, now: now)
    }
    return .json(admitter.plan.answer(remaining).json)
  }
}
