import Encodings
import Gateway

extension Configuration {
  /// Reads quotas, burst, in_flight, budgets, usage, audit and debug_tokens, and checks what must hold between them.
  static func limits(_ root: ConfigurationSection, into out: inout Configuration) {
    if let rules = root.objects("quotas", { rule($0, amount: "limit") }) { out.quotas = rules }
    if let rules = root.objects("budgets", { rule($0, amount: "dollars") }) { out.budgets = rules }
    let burst = root.section("burst")
    if let value = burst.entry("requests")?.integer(1...100_000) { out.burst.requests = value }
    if let value = burst.entry("seconds")?.integer(1...86_400) { out.burst.seconds = value }
    burst.finish()
    if let value = root.entry("in_flight")?.integer(1...10_000) { out.inFlight = value }
    if let value = root.entry("ipv6_site_factor")?.integer(1...65_536) { out.ipv6SiteFactor = value }
    newcomer(root.section("newcomer"), asksApple: out.attest.appleKey != nil, into: &out.newcomer)
    let usage = root.section("usage")
    if let value = usage.entry("retention_days")?.integer(1...36_500) { out.usageRetentionDays = value }
    usage.finish()
    let audit = root.section("audit")
    if let value = audit.entry("retention_days")?.integer(1...36_500) { out.auditRetentionDays = value }
    audit.finish()
    let debug = root.section("debug_tokens")
    if let entry = debug.entry("allowed") { out.debugTokens.allowed = entry.strings().map(\.text) }
    if let value = debug.entry("daily")?.integer(1...10_000) { out.debugTokens.daily = value }
    debug.finish()
    check(root, out)
  }

  private static func newcomer(
    _ section: ConfigurationSection, asksApple: Bool, into out: inout Newcomer
  ) {
    if let value = section.entry("requests")?.integer(0...1_000_000_000) { out.requests = value }
    if let entry = section.entry("dollars"), let text = entry.string() {
      out.money = picoDollars(text)
      if out.money == nil {
        section.reading.mistake(
          entry, "this is no sum of money", "write dollars in quotes such as \"0.10\", at most 1000000")
      }
    }
    if let value = section.entry("hours")?.integer(0...720) { out.hours = value }
    if let entry = section.entry("until_risk_known") {
      out.untilRiskKnown = entry.bool()
      if out.untilRiskKnown == true, !asksApple {
        section.reading.mistake(
          entry, "nobody asks Apple for the risk metric, so it would never be known",
          "give attest.apple_key, or remove it")
      }
    }
    if let value = section.entry("risk_above")?.integer(0...1_000_000) { out.riskAbove = value }
    if let value = section.entry("known_device")?.bool() { out.knownDevice = value }
    section.finish()
  }

  private static func check(_ root: ConfigurationSection, _ out: Configuration) {
    guard !root.reading.survey else { return }
    var names: Set<String> = ChargePlan.ownRules
    for rule in out.quotas + out.budgets where !names.insert(rule.name).inserted {
      root.reading.mistake(
        "quotas", .missing, "the name \"\(rule.name)\" is taken",
        "give every quota and budget a name of its own (taken are \(ChargePlan.ownRules.sorted().joined(separator: ", ")))"
      )
    }
    let unbounded = out.providers.contains { provider in
      // A budget of users does not bind a phone on which nobody has signed in.
      !out.budgets.contains { $0.subject != .user && $0.counts(function: nil, provider: provider.name) }
    }
    if unbounded {
      root.reading.mistake(
        "budgets", .missing, "nothing bounds what is spent",
        "write [{ \"name\": \"total\", \"subject\": \"everyone\", \"dollars\": \"20\" }]")
    }
    checkFunctions(root, out)
    for provider in out.providers where provider.policy == RoutePolicy.none {
      let isCapped = (out.quotas + out.budgets).contains {
        $0.subject == .everyone && $0.window != .month && $0.window != .lifetime
          && $0.counts(function: nil, provider: provider.name)
      }
      if isCapped { continue }
      root.reading.mistake(
        "providers.\(provider.name).policy", .missing,
        "a route without proof needs a daily cap for all together",
        "add a quota or budget with \"subject\": \"everyone\", or demand \"assertion\"")
    }
  }

  private static func rule(_ section: ConfigurationSection, amount: String) -> QuotaRule? {
    let name = section.entry("name")
    let scope = section.entry("subject")
    let limit = section.entry(amount)
    let window = section.entry("window")
    let unit = amount == "limit" ? section.entry("unit") : nil
    let function = section.entry("function")
    let provider = section.entry("provider")
    let alarms = section.entry("alarms")
    if section.reading.survey { return nil }
    guard let name, let scope, let limit else {
      section.reading.mistake(
        section.path, section.here, "name, subject and \(amount) belong together", "write all three")
      return nil
    }
    guard let text = name.string() else { return nil }
    let letters = text.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
    }
    if !letters || text.isEmpty || text.utf8.count > 32 {
      section.reading.mistake(
        name, "this is no name for a limit", "write 1 to 32 small letters, digits and hyphens")
    }
    guard let scope = scope.choice(QuotaRule.Scope.self) else { return nil }
    var rule = QuotaRule(name: text, subject: scope, limit: 0)
    if let window {
      guard let length = window.choice(QuotaRule.Length.self) else { return nil }
      rule.window = length
    }
    if let function {
      guard let name = function.string() else { return nil }
      rule.function = name
    }
    if let provider {
      guard let name = provider.string() else { return nil }
      rule.provider = name
    }
    if let alarms {
      guard let told = alarms.bool() else { return nil }
      rule.alarms = told
    }
    if amount == "limit" {
      if let unit {
        guard let counted = unit.choice(CountedUnit.self) else { return nil }
        rule.unit = counted.unit
      }
      guard let count = limit.integer(0...1_000_000_000_000) else { return nil }
      rule.limit = count
      return rule
    }
    guard let dollars = limit.string() else { return nil }
    guard let amount = picoDollars(dollars) else {
      section.reading.mistake(
        limit, "this is no sum of money", "write dollars in quotes such as \"0.50\", at most 1000000")
      return nil
    }
    rule.unit = .money
    rule.limit = amount
    return rule
  }

  /// What a quota can count: money has budgets.
  private enum CountedUnit: String, CaseIterable {
    case requests
    case tokens
    case images

    var unit: QuotaUnit {
      switch self {
      case .requests: .requests
      case .tokens: .tokens
      case .images: .images
      }
    }
  }

  /// A decimal sum of dollars in pico-dollars; nil beyond a million.
  static func picoDollars(_ text: String) -> Int64? {
    PicoDollars.dollars(text).flatMap { $0 <= 1_000_000 * PicoDollars.perDollar ? $0 : nil }
  }
}
