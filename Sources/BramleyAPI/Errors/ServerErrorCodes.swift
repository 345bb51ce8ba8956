/// The codes of requests that no route can answer, of limits, and of what the server itself lacks.
extension ErrorCode {
  /// 403: this build of the app is not accepted by the server's policy.
  public static let buildNotAccepted: ErrorCode = "build_not_accepted"
  /// 429: too many requests of the device run at once.
  public static let tooManyInFlight: ErrorCode = "too_many_in_flight"
  /// 429: the period's money is used up.
  public static let budgetExceeded: ErrorCode = "budget_exceeded"
  /// 404: there is no such route.
  public static let notFound: ErrorCode = "not_found"
  /// 405: the route does not know the method; `Allow` names those that it does.
  public static let methodNotAllowed: ErrorCode = "method_not_allowed"
  /// 408: the body came too slowly.
  public static let requestTimeout: ErrorCode = "request_timeout"
  /// 413: the body is longer than the route takes.
  public static let bodyTooLarge: ErrorCode = "body_too_large"
  /// 415: a content type or a coding that the route does not take.
  public static let unsupportedMediaType: ErrorCode = "unsupported_media_type"
  /// 500: a fault of the server.
  public static let internalError: ErrorCode = "internal_error"
  /// 503: the server cannot answer now, such as when its database does not; `Retry-After` says when to come.
  public static let unavailable: ErrorCode = "unavailable"
  /// 503: the provider is not called just now, since it failed for many, or the model is closed.
  public static let upstreamUnavailable: ErrorCode = "upstream_unavailable"
  /// 502 or 503: the provider failed, cannot be reached, or refuses the operator.
  public static let upstreamFailed: ErrorCode = "upstream_failed"
  /// 503 or 529: the provider is busy.
  public static let upstreamBusy: ErrorCode = "upstream_busy"
  /// 504: the provider did not answer in time.
  public static let upstreamTimeout: ErrorCode = "upstream_timeout"
  /// A 4xx of the provider: it refused what the client sent.
  public static let upstreamRefused: ErrorCode = "upstream_refused"

  /// Every code that Bramley's source names; providers' policies add their own.
  public static let known: [ErrorCode] =
    knownOfAttestation + knownOfAccounts + knownOfFunctions
    + knownOfStorage

  private static let knownOfAttestation: [ErrorCode] = [
    .attestationRequired, .unknownKey, .challengeInvalid, .challengeExpired, .challengeUsed, .counterReplayed,
    .invalidAssertion, .badSignature, .invalidSession, .appMismatch, .environmentMismatch, .keyRevoked,
    .attestationInvalid, .keyConflict, .invalidRequest, .rateLimited, .keyUserLimit,
    .quotaExceeded, .buildNotAccepted,
    .tooManyInFlight, .budgetExceeded, .notFound, .methodNotAllowed, .requestTimeout, .bodyTooLarge,
    .unsupportedMediaType, .internalError, .unavailable, .upstreamUnavailable, .upstreamFailed, .upstreamBusy,
    .upstreamTimeout, .upstreamRefused,
  ]
}
