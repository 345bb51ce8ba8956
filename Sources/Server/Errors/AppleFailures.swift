import Accounts
import BramleyAPI
import Encodings
import HTTPMessages
import SignInWithApple

extension Failure {
  static func appleUnavailable(retryAfter: Int64) -> Failure {
    Failure(
      503, .unavailable, "Apple's keys cannot be had now", fields: ["retry-after": String(retryAfter)])
  }

  static func providerDisabled(_ issuer: String) -> Failure {
    Failure(400, .providerDisabled, "Provider (issuer \"\(issuer)\") is not enabled")
  }

  static let noWebClient = Failure.validation(
    "Unsupported provider: Provider apple has no web client in the server's configuration")

  /// What is wrong with an identity token, with what was received and what is configured.
  static func identityToken(_ error: AppleTokenError) -> Failure {
    switch error {
    case .audience(let received, let configured):
      let shown = received.map { String($0.prefix(80)) }.joined(separator: " ")
      return .oauth(
        .audienceNotAccepted,
        "Unacceptable audience in id_token: [\(shown)]; configured: \(configured.joined(separator: ", "))")
    case .nonce(let mistake):
      switch mistake {
      case .notUsed, .notSent, .missing:
        return .oauth(
          .nonceMismatch,
          "Passed nonce and nonce in id_token should either both exist or not. \(mistake)")
      default: return .oauth(.nonceMismatch, "Nonces mismatch: \(mistake)", error: "invalid nonce")
      }
    case .issuer:
      return .validation("Detected ID token issuer is not an Apple ID token issuer: \(error)")
    case .claim("sub"): return .oauth(.identityTokenInvalid, "Missing sub claim in id_token")
    default: return .oauth(.identityTokenInvalid, "Bad ID token: \(error)")
    }
  }

  /// What is wrong with what should be a notification of Apple's. Whoever sent it is told no more than that.
  static func notification(_ error: AppleTokenError) -> Failure {
    if case .malformed = error {
      return Failure(
        400, .notificationInvalid, "This is no notification of Apple's.", diagnosis: "\(error)")
    }
    return Failure(
      401, .notificationInvalid, "This is no notification of Apple's for this server.",
      fields: ["www-authenticate": "Bearer"], diagnosis: "\(error)")
  }

  /// Why an identity token signs nobody in, or links nothing.
  ///
  /// - Parameter ticket: what a conflict is told with.
  static func refused(_ refusal: SignInRefusal, ticket: [Member] = []) -> Failure {
    switch refusal {
    case .tokenUsed: return .oauth(.identityTokenUsed, "Bad ID token: it was used before")
    case .challengeInvalid:
      return .oauth(
        .challengeInvalid, "Nonces mismatch: the challenge is unknown, used, over, or for another purpose",
        error: "invalid nonce")
    case .consentRevoked:
      return Failure(403, .consentRevoked, "Consent was withdrawn after this sign-in: sign in once more")
    case .banned: return .userBanned
    case .deleting: return .deletionInProgress
    case .signUpDisabled: return .signUpDisabled
    case .sessionNotFound: return .sessionNotFound
    case .alreadyLinked: return Failure(422, .identityAlreadyExists, "Identity is already linked")
    case .linkedToAnotherUser:
      return Failure(
        422, .identityAlreadyExists, "Identity is already linked to another user", members: ticket)
    case .tooManyIdentities:
      return Failure(
        422, .identityLimitReached, "The user has an identity of this provider already: unlink it first")
    case .emailTaken:
      return Failure(400, .emailExists, "A user with this email address has already been registered")
    case .stepUpRequired(let maximumAge): return .stepUp(maximumAge: maximumAge)
    case .userMismatch:
      return Failure(403, .userMismatch, "This identity is not one of the signed-in user's")
    case .changed: return .changing
    case .nothingLeftBehind:
      return Failure(
        422, .nothingLeftBehind,
        "This session left no anonymous user behind, they are anonymous no more, or the other word was said before"
      )
    case .discardBlocked(let what): return .deletionBlocked(what)
    }
  }
}
