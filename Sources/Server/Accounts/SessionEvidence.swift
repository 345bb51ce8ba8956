import Admission
import AppAttest
import BramleyAPI
import Encodings
import HTTPMessages

/// The assertion that may come with a sign-up, a sign-in and a refresh: it makes the session one of the key's.
struct SessionEvidence: Sendable {
  let environment: Environment
  let challenges: ChallengeKeys
  let verifier: EvidenceVerifier
  let admitter: Admitter

  /// The id of the key whose assertion the request carries, used up by this; nil without one. Throws a
  /// ``Failure`` for one that does not hold: it is never as good as none.
  func keyID(
    _ request: HTTPRequest, body: [UInt8], _ exchange: inout Exchange
  ) async throws -> [UInt8]? {
    guard let presented = try PresentedEvidence(assertionIn: request.fields) else { return nil }
    let now = exchange.startedAt
    let next = try await challenges.mint(.request, now: now)
    exchange.answerFields[AttestFields.nextChallenge] = Base64.encodeURL(next.bytes)
    guard request.fields["content-encoding"] == nil else { throw Failure.contentEncoding }
    let begun = try await verifier.beginAssertion(presented, .request, now: now)
    let verified = try verifier.finish(begun, of: request, body: body)
    return try await admitter.admit(.refused, verified, &exchange, lease: nil, isAboutSession: true).keyID
  }
}
