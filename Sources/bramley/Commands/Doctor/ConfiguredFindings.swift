import Gateway
import Server

extension Doctor {
  /// Whether the bill has a ceiling (RULES §5.1).
  static func budgets(_ configuration: Configuration) -> [Finding] {
    guard !configuration.providers.isEmpty else { return [] }
    guard let warning = configuration.budgetWarning else {
      return [Finding(.good, "budgets", "all calls together have a ceiling")]
    }
    let isOpen = configuration.providers.contains {
      configuration.billCeiling(of: $0.name) == .keysAlone
    }
    return [Finding(isOpen ? .bad : .note, "budgets", warning)]
  }

  /// Who answers each function. That each is configured, has its key and a price, was checked with the configuration.
  static func functions(_ configuration: Configuration) -> [Finding] {
    configuration.functions.map(\.definition).map { function in
      let chain = function.chain.map { "\($0.provider) \($0.model)" }.joined(separator: ", then ")
      let providers = Set(function.chain.map(\.provider))
      return function.fallbacks.isEmpty || providers.count > 1
        ? Finding(.good, "function", "\(function.name): \(chain)")
        : Finding(
          .note, "function",
          "\(function.name): \(chain); all are one provider's, and fail together where it does")
    }
  }
}
