package import Gateway

/// What the operator decides of every provider alike.
package struct ProviderSettings: Sendable, Equatable {
  /// Where it is; a base URL without a slash at its end.
  package var baseURL: String
  package var apiKey: Secret
  /// Models that devices may name; each needs a price.
  package var models: [String] = []
  /// Names that stand for models.
  package var aliases: [String: String] = [:]
  /// The operator's own price rows, which go before the shipped ones.
  package var prices: [PriceRow] = []
  package var policy = Configuration.RoutePolicy.assertion
  /// The largest request body, octets.
  package var bodyLimit: Int

  package init(baseURL: String, apiKey: Secret, bodyLimit: Int = 2 << 20) {
    self.baseURL = baseURL
    self.apiKey = apiKey
    self.bodyLimit = bodyLimit
  }
}
