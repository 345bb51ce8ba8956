import Gateway

/// A call of a provider as quotas and budgets see it, before it is made.
struct PaidCall: Sendable, Equatable {
  /// The provider's name in the configuration.
  var provider: String
  /// The model by the provider's name for it.
  var model: String
  /// The name of the function that makes the call; nil for a route that passes calls through.
  var function: String?
  /// The most that it can come to: what is held until it is settled.
  var bound: CallAmounts

  init(provider: String, model: String, function: String? = nil, bound: CallAmounts) {
    self.provider = provider
    self.model = model
    self.function = function
    self.bound = bound
  }
}
