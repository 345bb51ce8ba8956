/// A provider's model, by the provider's own name for it.
package struct ProviderModel: Sendable, Hashable {
  /// The provider's name in the configuration, such as `anthropic`.
  package var provider: String
  package var name: String

  package init(provider: String, name: String) {
    self.provider = provider
    self.name = name
  }
}

/// Why a model is closed: a call of it cost more than could be bounded (RULES §5.2).
package struct ModelClosure: Sendable, Equatable {
  package var model: ProviderModel
  /// Milliseconds since 1970.
  package var closedAt: Int64
  /// What the call cost and what was reserved for it, pico-dollars.
  package var cost: Int64
  package var reserve: Int64

  package init(model: ProviderModel, closedAt: Int64, cost: Int64, reserve: Int64) {
    self.model = model
    self.closedAt = closedAt
    self.cost = cost
    self.reserve = reserve
  }
}

/// The closed models, for operators. Each method is one atomic step.
package protocol ModelClosureStore: Sendable {
  /// All of them, the first closed first.
  func closures() async throws -> [ModelClosure]
  /// Opens the model: its cost is acknowledged; false when it is not closed.
  func reopen(_ model: ProviderModel) async throws -> Bool
}
