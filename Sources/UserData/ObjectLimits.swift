/// How much may be kept for one user.
package struct ObjectLimits: Sendable, Equatable {
  package var count: Int64
  /// Octets of all contents together.
  package var bytes: Int64

  package init(count: Int64, bytes: Int64) {
    self.count = count
    self.bytes = bytes
  }
}

/// How much is kept for a user.
package struct ObjectStanding: Sendable, Equatable {
  package var count: Int64
  /// Octets of all contents together.
  package var bytes: Int64

  package init(count: Int64 = 0, bytes: Int64 = 0) {
    self.count = count
    self.bytes = bytes
  }

  /// Whether so much more may be kept; nil where it may.
  package func refusal(count more: Int64, bytes moreBytes: Int64, _ limits: ObjectLimits) -> ObjectRefusal? {
    if Self.exceeds(count, more, limits.count) { return .count(limit: limits.count) }
    return Self.exceeds(bytes, moreBytes, limits.bytes) ? .bytes(limit: limits.bytes) : nil
  }

  private static func exceeds(_ there: Int64, _ more: Int64, _ limit: Int64) -> Bool {
    let (sum, overflow) = there.addingReportingOverflow(more)
    return overflow || sum > limit
  }
}

/// Why objects are not kept.
package enum ObjectRefusal: Error, Sendable, Equatable {
  /// The user would have more objects than this.
  case count(limit: Int64)
  /// The user's objects would be more octets than this.
  case bytes(limit: Int64)
  /// There is no such user, or the account is being deleted (RULES §4.1).
  case userGone
  /// Another object has the path.
  case taken
}
