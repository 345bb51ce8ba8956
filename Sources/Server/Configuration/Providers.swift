package import Gateway

/// What the operator decides of any provider. What only one has is in its own type.
package protocol ConfiguredProvider: Sendable, Equatable {
  var settings: ProviderSettings { get set }

  /// The key under `providers`, which is also the name in paths (`/ai/{name}/…`), price rows and usage rows.
  static var name: String { get }
  /// Whether models may have names of the operator's own.
  static var hasAliases: Bool { get }
  /// A model that a mistake's remedy may name.
  static var exampleModel: String { get }
  /// The provider under this policy.
  var provider: any Provider { get }
}

extension ConfiguredProvider {
  package static var hasAliases: Bool { true }
  package var name: String { Self.name }

  package var baseURL: String {
    get { settings.baseURL }
    set { settings.baseURL = newValue }
  }
  package var apiKey: Secret {
    get { settings.apiKey }
    set { settings.apiKey = newValue }
  }
  package var models: [String] {
    get { settings.models }
    set { settings.models = newValue }
  }
  package var aliases: [String: String] {
    get { settings.aliases }
    set { settings.aliases = newValue }
  }
  package var prices: [PriceRow] {
    get { settings.prices }
    set { settings.prices = newValue }
  }
  package var policy: Configuration.RoutePolicy {
    get { settings.policy }
    set { settings.policy = newValue }
  }
  package var bodyLimit: Int {
    get { settings.bodyLimit }
    set { settings.bodyLimit = newValue }
  }

  /// The names that devices may say, each with the provider's own.
  var modelNames: [String: String] {
    Dictionary(models.map { ($0, $0) } + aliases.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
  }

  /// The price rows in force: the operator's before the shipped ones.
  var priceTable: PriceTable { PriceTable.shipped.overridden(by: prices) }
}

extension Configuration {
  /// Every provider that is configured.
  package var providers: [any ConfiguredProvider] {
    let all: [(any ConfiguredProvider)?] = [anthropic, openAI, fal]
    return all.compactMap(\.self)
  }

  /// Which proof a provider's routes ask for (RULES §1.7).
  package enum RoutePolicy: String, Sendable, CaseIterable {
    /// An assertion on each request.
    case assertion
    /// An assertion or an attested session token.
    case session
    /// Nothing; only with a daily cap for everyone together.
    case none
  }

  /// The provider Anthropic.
  package struct Anthropic: ConfiguredProvider {
    package static let name = "anthropic"
    package static let exampleModel = "claude-haiku-4-5"

    package var settings: ProviderSettings
    /// The most `max_tokens` that reaches the provider.
    package var maxTokens: Int64 = 4096
    /// `anthropic-beta` values that pass.
    package var betas: [String] = []

    package init(apiKey: Secret) {
      settings = ProviderSettings(baseURL: "https://api.anthropic.com", apiKey: apiKey)
    }

    package var provider: any Provider {
      Gateway.Anthropic(
        policy: AnthropicPolicy(
          models: modelNames, maximumOutput: maxTokens, betas: Set(betas), maximumBody: bodyLimit),
        prices: priceTable, name: name)
    }
  }

  /// The provider OpenAI, or one that speaks its API.
  package struct OpenAI: ConfiguredProvider {
    package static let name = "openai"
    package static let exampleModel = "gpt-6-luna"

    package var settings: ProviderSettings
    /// The most output tokens a choice, reasoning included, that reach the provider.
    package var maxTokens: Int64 = 4096
    /// The most choices a request.
    package var maxChoices: Int64 = 1

    package init(apiKey: Secret) {
      settings = ProviderSettings(baseURL: "https://api.openai.com", apiKey: apiKey)
    }

    package var provider: any Provider {
      Gateway.OpenAI(
        policy: OpenAIPolicy(
          models: modelNames, maximumOutput: maxTokens, maximumChoices: maxChoices, maximumBody: bodyLimit),
        prices: priceTable, name: name)
    }
  }
}
