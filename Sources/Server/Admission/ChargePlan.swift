import Admission
import Gateway

/// What a request is charged for, by the configuration. The lines stand in the order in which they are judged
/// (DESIGN §4): in flight, burst, day, money.
struct ChargePlan: Sendable {
  /// What a route counts.
  enum Kind: Sendable, Equatable {
    /// A call that is paid for: everything, with this much money held.
    case paid(reserve: Int64)
    /// A call that costs nothing at the provider: in flight and burst (RULES §5.4).
    case free
    /// A request that a policy refused: its evidence is used up all the same.
    case refused
  }

  static let inFlightRule = "in-flight"
  static let burstRule = "burst"
  static let debugRule = "debug-daily"

  let configuration: Configuration
  /// The operator's zone: its midnight ends a day.
  let zone: TimeZoneRules

  /// The lines of a request.
  func charges(
    _ kind: Kind, evidence: AdmissionRequest.Evidence, address: String, now: Int64
  ) -> [Charge] {
    let caller: Subject = evidence == .none ? .address(address) : .key
    let burst = Charge(
      subject: caller, rule: Self.burstRule, amount: 1,
      limit: .burst(
        interval: max(1, configuration.burst.seconds * 1_000_000_000 / configuration.burst.requests),
        burst: configuration.burst.requests))
    if kind == .refused { return [burst] }
    let inFlight = Charge(
      subject: caller, rule: Self.inFlightRule, amount: 1, limit: .inFlight(configuration.inFlight))
    guard case .paid(let reserve) = kind else { return [inFlight, burst] }
    let window = QuotaPeriod.day(zone).window(at: now)
    var counts: [Charge] = []
    if case .debugToken = evidence {
      counts.append(
        Charge(
          subject: .key, rule: Self.debugRule, amount: 1,
          limit: .window(window, limit: configuration.debugTokens.daily, held: false)))
    }
    for rule in configuration.quotas {
      guard let subject = subject(rule.subject, evidence, address) else { continue }
      counts.append(
        Charge(
          subject: subject, rule: rule.name, amount: 1,
          limit: .window(window, limit: rule.limit, held: false)))
    }
    let money = configuration.budgets.compactMap { rule -> Charge? in
      subject(rule.subject, evidence, address).map {
        Charge(
          subject: $0, rule: rule.name, amount: reserve, limit: .window(window, limit: rule.limit, held: true)
        )
      }
    }
    return [inFlight, burst] + counts + money
  }

  /// Which rules' remainders the caller is told of: its own counts, not those it shares with others.
  var toldRules: Set<String> {
    Set(configuration.quotas.filter { $0.subject == .key || $0.subject == .user }.map(\.name))
      .union([Self.debugRule])
  }

  /// Whom the rule counts here; nil where the request has no such one.
  private func subject(
    _ scope: Configuration.QuotaRule.Scope, _ evidence: AdmissionRequest.Evidence, _ address: String
  ) -> Subject? {
    switch (scope, evidence) {
    case (.everyone, _): .everyone
    case (.address, _): .address(address)
    case (_, .none): nil
    case (.key, _): .key
    // A debug token is of no app and has no user.
    case (.user, .debugToken), (.app, .debugToken): nil
    case (.user, _): .user
    case (.app, _): .app
    }
  }
}
