import Admission
import Gateway

/// What keeps a new key, or a new user of one, from being a new allowance.
extension ChargePlan {
  /// The user as the key's own, with what it counts to come in another's place (RULES §1.9).
  func user(_ id: String, person: String? = nil, session: [UInt8]? = nil, now: Int64) -> KeyUser {
    let long: Int64 = 30 * 86_400_000
    let number = max(0, now) / long
    let window = Window(id: "30-days-\(number)", start: number * long, end: (number + 1) * long)
    return KeyUser(
      id: id, person: person, session: session,
      changes: [
        Charge(
          subject: .key, rule: Self.userRules.day, amount: 1,
          limit: .window(QuotaPeriod.day(zone).window(at: now), limit: 3, unit: .requests)),
        Charge(
          subject: .key, rule: Self.userRules.month, amount: 1,
          limit: .window(window, limit: 10, unit: .requests)),
      ])
  }

  /// What it counts to register a new key of the app.
  func registration(appID: String, address: String, now: Int64) -> [Charge] {
    let day = QuotaPeriod.day(zone).window(at: now)
    var charges: [Charge] = []
    if let limit = configuration.attest.registrationsPerDay {
      let rule = Configuration.QuotaRule(name: Self.registrationRule, subject: .address, limit: limit)
      charges += holders(address).map {
        Charge(
          subject: $0.subject, rule: rule.name, amount: 1,
          limit: .window(day, limit: $0.limit(rule), unit: .requests))
      }
    }
    if let limit = configuration.attest.appRegistrationsPerDay {
      charges.append(
        Charge(
          subject: .line(.named(.app, appID)), rule: Self.appRegistrationRule, amount: 1,
          limit: .window(day, limit: limit, unit: .requests)))
    }
    return charges
  }

  /// The smaller allowance of new keys (RULES §1.10).
  func newcomer(_ bound: CallAmounts, _ day: Window, now: Int64) -> [Charge] {
    let newcomer = configuration.newcomer
    let rule = NewcomerRule(
      registeredAfter: now / 1000 - newcomer.hours * 3600,
      untilRiskKnown: newcomer.untilRiskKnown ?? (configuration.attest.appleKey != nil),
      riskAbove: newcomer.riskAbove, knownDevice: newcomer.knownDevice)
    var charges: [Charge] = []
    if let limit = newcomer.requests {
      charges.append(
        Charge(
          subject: .key, rule: Self.newcomerRule, amount: 1,
          limit: .window(day, limit: limit, unit: .requests), newcomers: rule))
    }
    if let limit = newcomer.money {
      charges.append(
        Charge(
          subject: .key, rule: Self.newcomerBudget, amount: bound.cost,
          limit: .window(day, limit: limit, unit: .money), newcomers: rule))
    }
    return charges
  }
}
