import Accounts
import BramleyAPI
import Encodings
import HTTPMessages

/// What can go wrong with accounts, in the words of Supabase Auth where it has them.
extension Failure {
  static func validation(_ message: String, status: Int = 400) -> Failure {
    Failure(status, .validationFailed, message)
  }

  static let requestTooLarge = Failure(
    413, .requestTooLarge, "Request body exceeds 64 KiB", fields: ["connection": "close"])

  static func badJSON(_ reason: String) -> Failure {
    Failure(400, .badJSON, "Could not parse request body as JSON: \(reason)")
  }

  /// What is wrong with an identity token or its request, in OAuth's form.
  static func oauth(
    _ code: ErrorCode, _ description: String, error: String = "invalid request"
  ) -> Failure {
    var failure = Failure(400, code, description)
    failure.oauthError = error
    return failure
  }

  static let noAuthorization = Failure(
    401, .noAuthorization, "This endpoint requires a valid Bearer token")

  static func badJWT(_ diagnosis: String) -> Failure {
    Failure(
      403, .badJWT, "invalid JWT: unable to parse or verify signature", diagnosis: diagnosis)
  }

  static let sessionNotFound = Failure(
    403, .sessionNotFound, "Session from session_id claim in JWT does not exist")
  static let userBanned = Failure(403, .userBanned, "User is banned")
  static let userNotFound = Failure(404, .userNotFound, "User not found")
  static let notAdmin = Failure(403, .notAdmin, "User not allowed")
  static let deletionInProgress = Failure(
    503, .deletionInProgress, "The account is being deleted", fields: ["retry-after": "5"])

  /// Nothing was changed; asked again, it works.
  static let changing = Failure(
    503, .unavailable, "The account is being changed: ask again", fields: ["retry-after": "1"])

  static let deletionNotFound = Failure(404, .deletionNotFound, "There is no such deletion")
  static let appleAccountMismatch = Failure(
    403, .appleAccountMismatch, "The authorization code is of an Apple Account that is not this user's")
  static let authorizationCodeInvalid = Failure(
    400, .authorizationCodeInvalid, "Apple takes the authorization code no more: send a fresh one, or none")

  /// - Parameter what: for the log: it names a table of the app's.
  static func deletionBlocked(_ what: String) -> Failure {
    Failure(
      422, .deletionBlocked, "The app's own data does not let the account go: nothing was deleted",
      diagnosis: what)
  }

  /// Nothing was revoked and nothing deleted.
  static func revocationFailed(_ diagnosis: String, retryAfter: Int64?) -> Failure {
    Failure(
      503, .revocationFailed, "Apple cannot be told now: nothing was deleted, ask again",
      fields: ["retry-after": String(min(max(retryAfter ?? 30, 1), 3_600))], diagnosis: diagnosis)
  }

  /// Why a deletion is not begun.
  static func refused(_ refusal: DeletionRefusal) -> Failure {
    switch refusal {
    case .userNotFound: .userNotFound
    case .sessionNotFound: .sessionNotFound
    case .banned: .userBanned
    case .stepUpRequired(let maximumAge): .stepUp(maximumAge: maximumAge)
    case .appleAccountMismatch: .appleAccountMismatch
    case .operationTaken: .validation("operation_id is taken: draw another one", status: 422)
    case .blocked(let what): .deletionBlocked(what)
    // Nobody who asks from outside proves that.
    case .notIdle: .deletionInProgress
    }
  }

  static let signUpDisabled = Failure(422, .signUpDisabled, "Signups not allowed for this instance")
  static let anonymousDisabled = Failure(
    422, .anonymousProviderDisabled, "Anonymous sign-ins are disabled")
  static let manualLinkingDisabled = Failure(404, .manualLinkingDisabled, "Manual linking is disabled")

  static func overRequestRateLimit(nanoseconds: Int64) -> Failure {
    Failure(
      429, .overRequestRateLimit, "Request rate limit reached",
      fields: ["retry-after": String(seconds(nanoseconds))])
  }

  /// Never 429 on a refresh: clients would throw the session away.
  static func busy(nanoseconds: Int64) -> Failure {
    Failure(
      503, .unavailable, "The session is refreshed too often",
      fields: ["retry-after": String(seconds(nanoseconds))])
  }

  static func metadataTooLarge(limit: Int) -> Failure {
    .validation("user_metadata is longer than \(limit) octets", status: 422)
  }

  static let tokenTooLarge = Failure.validation(
    "An access token with this metadata would be longer than \(AccessTokenClaims.limit) octets", status: 422)

  /// RFC 9470: the user has to sign in again, no longer than `maximumAge` seconds ago.
  static func stepUp(maximumAge: Int64) -> Failure {
    Failure(
      401, .insufficientUserAuthentication, "More recent authentication is required",
      fields: [
        "www-authenticate":
          #"Bearer error="insufficient_user_authentication", max_age="\#(maximumAge)""#
      ],
      members: [Member("max_age", .integer(maximumAge))])
  }

  private static func seconds(_ nanoseconds: Int64) -> Int64 { (nanoseconds + 999_999_999) / 1_000_000_000 }
}

/// What this server leaves out, each with the error that Supabase Auth has for it.
extension Failure {
  static let emailLoginsDisabled = Failure(422, .emailProviderDisabled, "Email logins are disabled")
  static let emailSignUpsDisabled = Failure(400, .emailProviderDisabled, "Email signups are disabled")
  static let emailChangesDisabled = Failure(
    422, .emailProviderDisabled, "Changing an e-mail address or a password is disabled")
  static let reauthenticationDisabled = Failure(
    422, .emailProviderDisabled, "Reauthentication by e-mail is disabled: sign in with Apple again")
  static let phoneLoginsDisabled = Failure(422, .phoneProviderDisabled, "Phone logins are disabled")
  static let phoneSignUpsDisabled = Failure(400, .phoneProviderDisabled, "Phone signups are disabled")
  static let phoneChangesDisabled = Failure(
    422, .phoneProviderDisabled, "Changing a phone number is disabled")
  static let otpDisabled = Failure(422, .otpDisabled, "One-time passwords are disabled")
  static let factorsDisabled = Failure(422, .factorsDisabled, "MFA enroll is disabled for TOTP")
  static let samlDisabled = Failure(404, .samlProviderDisabled, "SAML 2.0 is disabled")
  static let web3Disabled = Failure(422, .web3ProviderDisabled, "Web3 provider is disabled")
}
