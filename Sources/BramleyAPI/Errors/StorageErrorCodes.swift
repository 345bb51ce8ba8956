/// The codes of users' objects. Those that a 200 answer of a function may have in `not_stored` say why it holds what
/// it made itself.
extension ErrorCode {
  /// 404: the user has no such object.
  public static let objectNotFound: ErrorCode = "object_not_found"
  /// 422, or in `not_stored`: the user keeps as many objects, or octets, as is allowed.
  public static let objectLimitReached: ErrorCode = "object_limit_reached"
  /// In `not_stored`: what was made is longer than one result may be.
  public static let objectTooLarge: ErrorCode = "object_too_large"
  /// In `not_stored`: the file could not be fetched from the provider, or not be written.
  public static let objectNotStored: ErrorCode = "object_not_stored"
  /// In `not_stored`: the model stopped before it was done.
  public static let outputIncomplete: ErrorCode = "output_incomplete"

  static let knownOfStorage: [ErrorCode] = [
    .objectNotFound, .objectLimitReached, .objectTooLarge, .objectNotStored, .outputIncomplete,
  ]
}
