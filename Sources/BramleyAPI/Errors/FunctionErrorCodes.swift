/// The codes of functions, and of requests that carry an `Idempotency-Key`.
extension ErrorCode {
  /// 502: the model's answer is not what the function promises.
  public static let outputInvalid: ErrorCode = "output_invalid"
  /// 403: the user must have signed in with an identity.
  public static let identityRequired: ErrorCode = "identity_required"
  /// 422: the first request with this `Idempotency-Key` began, and its answer was not kept whole.
  public static let idempotencyIncomplete: ErrorCode = "idempotency_incomplete"
  /// 422: another body came with this `Idempotency-Key` before.
  public static let idempotencyMismatch: ErrorCode = "idempotency_mismatch"

  static let knownOfFunctions: [ErrorCode] = [
    .outputInvalid, .identityRequired, .idempotencyIncomplete, .idempotencyMismatch,
  ]
}
