package import Gateway

/// A limit that so much of is used up. It is raised once in a period for each share, whatever nodes there are.
package struct LimitAlarm: Sendable, Equatable {
  /// The limit's name in the configuration.
  package var rule: String
  package var unit: QuotaUnit
  /// Whose limit it is.
  package var subject: LineSubject
  /// The share that was reached, in percent: 100 also where a call was refused, because what is left is too little.
  package var share: Int64
  package var limit: Int64
  package var used: Int64
  /// The window's bounds, milliseconds since 1970.
  package var start: Int64
  package var end: Int64
  /// Milliseconds since 1970.
  package var time: Int64

  package init(
    rule: String, unit: QuotaUnit, subject: LineSubject, share: Int64, limit: Int64, used: Int64,
    start: Int64,
    end: Int64, time: Int64
  ) {
    self.rule = rule
    self.unit = unit
    self.subject = subject
    self.share = share
    self.limit = limit
    self.used = used
    self.start = start
    self.end = end
    self.time = time
  }

  /// The shares that are told of, the highest first, and from which amount on each is used up.
  static func shares(of limit: Int64) -> [(share: Int64, amount: Int64)] {
    // A limit of nothing is closed on purpose.
    guard limit > 0 else { return [] }
    return [(100, limit), (80, limit - limit / 5), (50, limit - limit / 2)]
  }
}

extension LedgerLine {
  /// The share of the limit that is used up and was not told of; from now on it was. What was told is kept as an
  /// amount, so that a limit that was raised meanwhile has its own shares.
  ///
  /// - Parameter refuses: the limit refused a request: what is left is too little.
  mutating func newShare(of limit: Int64, refuses: Bool = false) -> Int64? {
    let reached = LimitAlarm.shares(of: limit).first { refuses || used >= $0.amount }
    guard let reached, reached.amount > alarmed else { return nil }
    alarmed = reached.amount
    return reached.share
  }

  func alarm(
    _ share: Int64, rule: String, unit: QuotaUnit, subject: LineSubject, limit: Int64, time: Int64
  ) -> LimitAlarm {
    LimitAlarm(
      rule: rule, unit: unit, subject: subject, share: share, limit: limit, used: used, start: start,
      end: end,
      time: time)
  }
}
