/// The codes of attestation and of the gateway. 401 is for what a client can mend by itself.
extension ErrorCode {
  /// 401: no evidence, though the route's policy demands some.
  public static let attestationRequired: ErrorCode = "attestation_required"
  /// 401: the key is not registered here. The one code upon which a client may register anew.
  public static let unknownKey: ErrorCode = "unknown_key"
  /// 401: the challenge is none of this server's.
  public static let challengeInvalid: ErrorCode = "challenge_invalid"
  /// 401: the challenge's time is over.
  public static let challengeExpired: ErrorCode = "challenge_expired"
  /// 401: the challenge was used before.
  public static let challengeUsed: ErrorCode = "challenge_used"
  /// 401: the counter was accepted before, or lies below the window.
  public static let counterReplayed: ErrorCode = "counter_replayed"
  /// 401: the assertion is no assertion.
  public static let invalidAssertion: ErrorCode = "invalid_assertion"
  /// 401: the signature is not the key's over these bytes.
  public static let badSignature: ErrorCode = "bad_signature"
  /// 401: the session token is unknown, over, revoked, or not for this route.
  public static let invalidSession: ErrorCode = "invalid_session"
  /// 403: made by another app.
  public static let appMismatch: ErrorCode = "app_mismatch"
  /// 403: made in another environment.
  public static let environmentMismatch: ErrorCode = "environment_mismatch"
  /// 403: the key was revoked, or its device is banned.
  public static let keyRevoked: ErrorCode = "key_revoked"
  /// 400: the attestation does not hold.
  public static let attestationInvalid: ErrorCode = "attestation_invalid"
  /// 422: the key is known under other facts. Not 409, which the official SDKs send again.
  public static let keyConflict: ErrorCode = "key_conflict"
  /// 400: the request cannot be read.
  public static let invalidRequest: ErrorCode = "invalid_request"
  /// 429: too many requests in a short time.
  public static let rateLimited: ErrorCode = "rate_limited"
  /// 429: too many users in turn on one device.
  public static let keyUserLimit: ErrorCode = "key_user_limit"
  /// 429: the allowance of a period is used up.
  public static let quotaExceeded: ErrorCode = "quota_exceeded"
}
