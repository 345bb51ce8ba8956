/// All limits of a route.
package struct QuotaPlan: Sendable, Equatable {
  package var inFlight: [InFlightRule]
  package var bursts: [BurstRule]
  package var quotas: [QuotaRule]

  package init(inFlight: [InFlightRule] = [], bursts: [BurstRule] = [], quotas: [QuotaRule] = []) {
    self.inFlight = inFlight
    self.bursts = bursts
    self.quotas = quotas
  }

  /// What a request costs now, in the order in which it is judged: in flight, burst, counts, money.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - reserve: pico-dollars to hold; the lines of money are left out where it is nil.
  ///   - counted: whether the lines of counts are asked for; a repeat costs burst alone (RULES §5.8).
  package func lines(at now: Int64, reserve: Int64?, counted: Bool = true) -> [QuotaLine] {
    var lines = inFlight.map {
      QuotaLine(subject: $0.subject, rule: $0.name, amount: 1, limit: .inFlight($0.limit))
    }
    lines += bursts.map {
      QuotaLine(
        subject: $0.subject, rule: $0.name, amount: 1, limit: .burst(interval: $0.interval, burst: $0.burst))
    }
    if counted {
      lines += quotas.filter { $0.unit == .requests }.map { line($0, amount: 1, now: now) }
    }
    if let reserve {
      lines += quotas.filter { $0.unit == .money }.map { line($0, amount: reserve, now: now) }
    }
    return lines
  }

  private func line(_ rule: QuotaRule, amount: Int64, now: Int64) -> QuotaLine {
    QuotaLine(
      subject: rule.subject, rule: rule.name, amount: amount,
      limit: .window(rule.period.window(at: now), limit: rule.limit, held: rule.unit == .money))
  }
}

/// One line of what a request costs against one limit of one subject; the ledger's charge is made of it.
package struct QuotaLine: Sendable, Equatable {
  /// How the line is limited.
  package enum Limit: Sendable, Equatable {
    /// At most this many at once.
    case inFlight(Int64)
    /// GCRA: one every `interval` nanoseconds, `burst` at once.
    case burst(interval: Int64, burst: Int64)
    /// At most `limit` in the window; `held` lines settle to an actual amount.
    case window(Window, limit: Int64, held: Bool)
  }

  package var subject: QuotaSubject
  package var rule: String
  /// Requests, or pico-dollars.
  package var amount: Int64
  package var limit: Limit

  package init(subject: QuotaSubject, rule: String, amount: Int64, limit: Limit) {
    self.subject = subject
    self.rule = rule
    self.amount = amount
    self.limit = limit
  }
}
