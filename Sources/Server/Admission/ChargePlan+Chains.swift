import Admission
import Gateway

/// What a call counts that any of several providers may answer (RULES §5.6).
extension ChargePlan {
  /// A limit that counts one provider's calls alone.
  struct ProviderRule: Sendable, Equatable {
    var name: String
    var provider: String
    /// Whether it holds an amount until the call is settled, and does not count requests.
    var isHeld: Bool
  }

  /// Each call with what counts its provider alone, at the most that a call of that provider can come to.
  func choices(
    _ calls: [PaidCall], evidence: AdmissionRequest.Evidence, address: String, now: Int64
  ) -> [CallChoice] {
    calls.map { call in
      let own = rules.filter {
        $0.provider != nil && $0.counts(function: call.function, provider: call.provider)
      }
      let bound = CallAmounts.most(calls.filter { $0.provider == call.provider }.map(\.bound))
      return CallChoice(
        model: ProviderModel(provider: call.provider, name: call.model),
        charges: windows(own, bound: bound, evidence, address, now: now))
    }
  }

  /// The limits that count one of the calls' providers alone.
  func providerRules(_ calls: [PaidCall]) -> [ProviderRule] {
    rules.compactMap { rule in
      guard let provider = rule.provider,
        calls.contains(where: { rule.counts(function: $0.function, provider: $0.provider) })
      else { return nil }
      return ProviderRule(name: rule.name, provider: provider, isHeld: rule.unit.isHeld)
    }
  }
}
