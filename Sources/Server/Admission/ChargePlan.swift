import Admission
import Gateway

/// What a request is charged for, by the configuration. The lines stand in the order in which they are judged
/// (DESIGN §4): in flight, burst, counts, money.
final class ChargePlan: Sendable {
  /// What a route counts.
  enum Kind: Sendable, Equatable {
    /// A call that is paid for: everything, with the most that it can come to held.
    case paid(PaidCall)
    /// A call that any of several models may answer: what counts whoever answers, at the most that one of them can
    /// come to (RULES §5.6). What counts one provider alone is in ``ChargePlan/choices(_:evidence:address:now:)``.
    case chain([PaidCall])
    /// A call that costs nothing at the provider: in flight and burst (RULES §5.4).
    case free
    /// A look at a call that a provider's queue has: a burst of its own, since it is repeated until the call ends.
    case look
    /// A request that a policy refused, or that only asks: its evidence is used up all the same.
    case refused
  }

  static let inFlightRule = "in-flight"
  static let burstRule = "burst"
  static let lookRule = "looks"
  /// How many times as many looks as other requests there may be.
  private static let looks: Int64 = 20
  static let debugRule = "debug-daily"
  static let newcomerRule = "newcomer"
  static let newcomerBudget = "newcomer-budget"
  static let registrationRule = "registrations"
  static let appRegistrationRule = "app-registrations"
  static let userRules = (day: "users-daily", month: "users-in-30-days")
  /// Names that no rule of the configuration has.
  static let ownRules: Set<String> = [
    inFlightRule, burstRule, lookRule, debugRule, newcomerRule, newcomerBudget, registrationRule,
    appRegistrationRule,
    userRules.day, userRules.month,
  ]

  let configuration: Configuration
  /// The operator's zone: its midnight ends a day, and a month.
  let zone: TimeZoneRules
  /// Quotas, then budgets.
  let rules: [Configuration.QuotaRule]
  /// Which rules' remainders the caller is told of: its own counts, not those it shares with others.
  let toldRules: Set<String>

  init(configuration: Configuration, zone: TimeZoneRules) {
    self.configuration = configuration
    self.zone = zone
    rules =
      configuration.quotas
      + configuration.budgets.map { budget in
        var budget = budget
        budget.unit = .money
        return budget
      }
    toldRules = Set(
      rules.filter { $0.unit != .money && ($0.subject == .key || $0.subject == .user) }.map(\.name)
    ).union([Self.debugRule, Self.newcomerRule])
  }

  /// The lines of a request.
  ///
  /// - Parameter now: milliseconds since 1970.
  func charges(
    _ kind: Kind, evidence: AdmissionRequest.Evidence, address: String, now: Int64
  ) -> [Charge] {
    let callers = evidence == .none ? holders(address) : [Holder(subject: .key, factor: 1)]
    let burst = callers.map { caller in
      let requests = configuration.burst.requests * caller.factor * (kind == .look ? Self.looks : 1)
      let interval = max(1, configuration.burst.seconds * 1_000_000_000 / requests)
      return Charge(
        subject: caller.subject, rule: kind == .look ? Self.lookRule : Self.burstRule, amount: 1,
        limit: .burst(interval: interval, burst: requests))
    }
    if kind == .refused || kind == .look { return burst }
    let inFlight = callers.map {
      Charge(
        subject: $0.subject, rule: Self.inFlightRule, amount: 1,
        limit: .inFlight(configuration.inFlight * $0.factor))
    }
    let counting: [Configuration.QuotaRule]
    let bound: CallAmounts
    switch kind {
    case .paid(let call):
      counting = rules.filter { $0.counts(function: call.function, provider: call.provider) }
      bound = call.bound
    case .chain(let calls):
      counting = rules.filter { rule in
        rule.provider == nil && calls.contains { rule.counts(function: $0.function, provider: $0.provider) }
      }
      bound = CallAmounts.most(calls.map(\.bound))
    case .free, .look, .refused: return inFlight + burst
    }
    let day = QuotaPeriod.day(zone).window(at: now)
    return inFlight + burst + debug(evidence, day)
      + windows(counting, bound: bound, evidence, address, now: now)
      + newcomer(bound, day, now: now)
  }

  /// The lines that tell what is left: every rule in a unit that the caller is told of, counting nothing.
  func standings(evidence: AdmissionRequest.Evidence, address: String, now: Int64) -> [Charge] {
    debug(evidence, QuotaPeriod.day(zone).window(at: now))
      + windows(
        rules.filter { toldRules.contains($0.name) }, bound: CallAmounts(), evidence, address, now: now)
      + newcomer(CallAmounts(), QuotaPeriod.day(zone).window(at: now), now: now).filter {
        toldRules.contains($0.rule)
      }
  }

  /// What is left for a user who shows no device: the rules of users alone.
  func standings(user: KeyUser, now: Int64) -> [Charge] {
    let own = rules.filter { $0.subject == .user && toldRules.contains($0.name) }
    let charges = windows(
      own, bound: CallAmounts(), .assertion(keyID: [], counter: 0, challenge: nil), "", now: now)
    return charges.compactMap { charge in
      var charge = charge
      switch charge.subject {
      case .user: charge.subject = .line(.named(.user, user.id))
      case .person:
        guard let person = user.person else { return nil }
        charge.subject = .line(.named(.person, person))
      default: return nil
      }
      return charge
    }
  }

  /// What a debug token may do in a day.
  private func debug(_ evidence: AdmissionRequest.Evidence, _ day: Window) -> [Charge] {
    guard case .debugToken = evidence else { return [] }
    return [
      Charge(
        subject: .key, rule: Self.debugRule, amount: 1,
        limit: .window(day, limit: configuration.debugTokens.daily, unit: .requests))
    ]
  }

  func windows(
    _ rules: [Configuration.QuotaRule], bound: CallAmounts, _ evidence: AdmissionRequest.Evidence,
    _ address: String, now: Int64
  ) -> [Charge] {
    var known: [Configuration.QuotaRule.Length: Window] = [:]
    func window(_ length: Configuration.QuotaRule.Length) -> Window {
      if let window = known[length] { return window }
      let window = period(length).window(at: now)
      known[length] = window
      return window
    }
    var charges: [Charge] = []
    for rule in rules {
      for (index, holder) in holders(rule.subject, evidence, address).enumerated() {
        charges.append(
          Charge(
            subject: holder.subject, rule: rule.name, amount: bound.amount(rule.unit),
            limit: .window(window(rule.window), limit: holder.limit(rule), unit: rule.unit),
            // A user's person, and the site of an address, would only tell it twice.
            alarms: rule.isWatched && index == 0))
      }
    }
    return charges
  }

  private func period(_ length: Configuration.QuotaRule.Length) -> QuotaPeriod {
    switch length {
    case .minute: .minute
    case .hour: .hour
    case .day: .day(zone)
    case .month: .month(zone)
    case .lifetime: .lifetime
    }
  }

  /// Whom a rule counts, and how many times its limit that one has.
  struct Holder {
    var subject: Subject
    var factor: Int64

    func limit(_ rule: Configuration.QuotaRule) -> Int64 {
      let (limit, overflow) = rule.limit.multipliedReportingOverflow(by: factor)
      return overflow ? .max : limit
    }
  }

  /// Whom the rule counts here; none where the request has no such one.
  private func holders(
    _ scope: Configuration.QuotaRule.Scope, _ evidence: AdmissionRequest.Evidence, _ address: String
  ) -> [Holder] {
    switch (scope, evidence) {
    case (.everyone, _): [Holder(subject: .everyone, factor: 1)]
    case (.address, _): holders(address)
    case (.key, .none), (.app, .none): []
    case (.key, _): [Holder(subject: .key, factor: 1)]
    // A debug token is of no app and has no user.
    case (.user, .debugToken), (.app, .debugToken): []
    // Without proof too, where somebody has signed in.
    case (.user, _): [Holder(subject: .user, factor: 1), Holder(subject: .person, factor: 1)]
    case (.app, _): [Holder(subject: .app, factor: 1)]
    }
  }

  /// The address, and of an IPv6 one its /48 as well, which has more (RULES §5.1).
  func holders(_ address: String) -> [Holder] {
    let site = IPAddress.siteName(of: address).map {
      Holder(subject: .address($0), factor: configuration.ipv6SiteFactor)
    }
    return [Holder(subject: .address(address), factor: 1)] + [site].compactMap(\.self)
  }
}
