import Gateway

extension Configuration {
  /// What bounds the bill of a provider, all phones together.
  package enum BillCeiling: Sendable, Equatable {
    /// A budget of everyone or of an app counts every call.
    case shared
    /// Each user or address has a budget, and their number is not bounded.
    case each
    /// Each key has a budget, and whoever installs the app anew has a new key (RULES §5.1).
    case keysAlone
  }

  /// How the bill of a provider is bounded.
  package func billCeiling(of provider: String) -> BillCeiling {
    // A budget of one function leaves the calls that the app writes itself.
    let scopes = budgets.filter { $0.counts(function: nil, provider: provider) }.map(\.subject)
    if scopes.contains(where: { $0 == .everyone || $0 == .app }) { return .shared }
    return scopes.contains(where: { $0 == .user || $0 == .address }) ? .each : .keysAlone
  }

  /// What an operator is told who runs without a ceiling for all together.
  package var budgetWarning: String? {
    let names = providers.map(\.name)
    func told(_ ceiling: BillCeiling) -> String {
      names.filter { billCeiling(of: $0) == ceiling }.joined(separator: ", ")
    }
    let remedy =
      "add { \"name\": \"total\", \"subject\": \"everyone\", \"window\": \"month\", \"dollars\": \"20\" } to budgets"
    let keys = told(.keysAlone)
    if !keys.isEmpty {
      return
        "\(keys): only single phones have a budget, and whoever installs the app anew comes with a new key, so nothing "
        + "bounds the bill; \(remedy)"
    }
    let each = told(.each)
    if each.isEmpty { return nil }
    return
      "\(each): each user and address has a budget, and all together have none, so the bill grows with their number; "
      + remedy
  }
}
