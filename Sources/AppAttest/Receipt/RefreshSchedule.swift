/// When a receipt is exchanged again. Times are seconds since 1970; the random numbers spread what was registered
/// together.
package struct RefreshSchedule: Sendable, Equatable {
  /// No schedule looks further ahead: Apple's receipts expire after 90 days.
  package static let horizon: Int64 = 92 * day
  private static let day: Int64 = 86_400
  private static let hour: Int64 = 3_600

  /// Seconds between two exchanges of a used key; Apple allows one a day.
  package var interval: Int64

  package init(interval: Int64) { self.interval = interval }

  /// After a new receipt came: not before Apple allows it, and before it expires. nil: never, it is over.
  package func next(after receipt: Receipt, now: Int64, random: UInt64) -> Int64? {
    let spread = max(interval / 10, Self.hour)
    let wanted = now.plus(interval).plus(Int64(random % UInt64(spread)))
    return Self.bounded(wanted, receipt, now: now, random: random)
  }

  /// After nothing came of it: soon at first, later more and more seldom. nil: never, Apple takes no expired ones.
  ///
  /// - Parameters:
  ///   - receipt: the one that was sent; nil where it cannot be read.
  ///   - failures: before this one.
  package func next(
    after refusal: ReceiptRefusal, of receipt: Receipt?, failures: Int64, now: Int64, random: UInt64
  ) -> Int64? {
    let (first, longest): (Int64, Int64) =
      switch refusal {
      case .retryable, .noAnswer, .tooMany, .credentials: (30, 6 * Self.hour)
      case .tooEarly, .invalid, .notNewer: (Self.hour, Self.day)
      case .notTaken, .otherEnvironment, .unknownKey: (Self.day, 16 * Self.day)
      }
    let wait = min(longest, first << min(max(failures, 0), 20))
    let wanted = now.plus(wait).plus(Int64(random % UInt64(max(wait / 4, 1))))
    guard let receipt else { return wanted }
    return Self.bounded(wanted, receipt, now: now, random: random)
  }

  private static func bounded(_ wanted: Int64, _ receipt: Receipt, now: Int64, random: UInt64) -> Int64? {
    let expiration = receipt.expiration ?? receipt.creation.plus(90 * day)
    guard now < expiration else { return nil }
    // The last day is for what comes between. Within it the wait is as long as anywhere: never none.
    let latest = expiration.plus(-day)
    let early = wanted > latest && latest > now.plus(hour) ? latest : wanted
    let earliest = receipt.notBefore.map { $0.plus(Int64(random % 600)) } ?? .min
    let next = max(early, earliest)
    return next < expiration ? min(next, now.plus(horizon)) : nil
  }
}

extension Int64 {
  /// The sum, or the end of what can be counted.
  fileprivate func plus(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
