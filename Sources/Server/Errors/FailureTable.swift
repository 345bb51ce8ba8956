import BramleyAPI
import Encodings
import HTTPMessages

/// The one table from what can go wrong to code, status and words (docs/errors.md).
extension Failure {
  static let attestationRequired = Failure(
    401, .attestationRequired, "This route asks for App Attest evidence, and there was none.")
  static let unknownKey = Failure(
    401, .unknownKey, "The key is not registered here. Try a fresh challenge once, then register anew.")
  static let challengeInvalid = Failure(
    401, .challengeInvalid, "The challenge is not of this server, or for another purpose. Fetch a fresh one.")
  static let challengeExpired = Failure(
    401, .challengeExpired, "The challenge is too old. Fetch a fresh one.")
  static let challengeUsed = Failure(
    401, .challengeUsed, "The challenge was used before. Fetch a fresh one.")
  static let counterReplayed = Failure(
    401, .counterReplayed, "The assertion was used before, or is too old. Sign the request again.")
  static let invalidAssertion = Failure(401, .invalidAssertion, "The assertion cannot be read.")
  static let badSignature = Failure(
    401, .badSignature,
    "The assertion is not valid for this audience, challenge, method, target, authorization and body.")
  static let invalidSession = Failure(
    401, .invalidSession, "The token is unknown, expired, ended, or not for this route. Get a new one.")
  static let appMismatch = Failure(403, .appMismatch, "The app is not accepted here.")
  static let environmentMismatch = Failure(
    403, .environmentMismatch, "Keys of this App Attest environment are not accepted here.")
  static let keyRevoked = Failure(403, .keyRevoked, "The key was revoked.")
  static let keyConflict = Failure(422, .keyConflict, "The key is known under other facts.")
  static let keyIsRegistered = Failure(
    401, .keyConflict, "The key is registered. Fetch a challenge and buy a token with an assertion.")
  static let buildNotAccepted = Failure(403, .buildNotAccepted, "This build of the app is not accepted here.")

  static func attestationInvalid(_ diagnosis: String) -> Failure {
    Failure(400, .attestationInvalid, "The attestation does not hold.", diagnosis: diagnosis)
  }

  static func invalidRequest(_ message: String) -> Failure { Failure(400, .invalidRequest, message) }

  static let notFound = Failure(404, .notFound, "There is no such route.")

  static func methodNotAllowed(_ allow: String) -> Failure {
    Failure(405, .methodNotAllowed, "The route does not know this method.", fields: ["allow": allow])
  }

  static func bodyTooLarge(limit: Int) -> Failure {
    Failure(
      413, .bodyTooLarge, "The body is longer than \(limit) octets.", fields: ["connection": "close"])
  }

  static let contentEncoding = Failure(
    415, .unsupportedMediaType, "An attested request has no Content-Encoding; send the body as it is.")

  /// The database, or what stands between: nothing was admitted, come again.
  static func storage(_ error: any Error) -> Failure {
    Failure(
      503, .unavailable, "The server cannot answer now.", fields: ["retry-after": "5"],
      diagnosis: "storage: \(error)")
  }

  /// Too many requests of an address.
  static let modelClosed = Failure(
    503, .upstreamUnavailable, "The model is closed until the operator has looked.",
    fields: ["x-should-retry": "false", "retry-after": "60"])

  static func addressLimited(seconds: Int64) -> Failure {
    Failure(
      429, .rateLimited, "Too many requests from this address.",
      fields: ["retry-after": String(seconds), "x-should-retry": "false"])
  }

  /// What reading a body can meet.
  static func of(_ error: HTTPBodyError) -> Failure {
    switch error {
    case .tooLarge(let limit): bodyTooLarge(limit: limit)
    case .timedOut:
      Failure(408, .requestTimeout, "The body came too slowly.", fields: ["connection": "close"])
    case .incomplete: Failure(400, .invalidRequest, "The body ended early.", fields: ["connection": "close"])
    }
  }
}
