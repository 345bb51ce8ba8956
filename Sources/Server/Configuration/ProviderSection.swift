import Encodings
import Gateway

extension Configuration {
  /// Reads `providers`; those that name no model, and where they stand.
  static func providers(
    _ section: ConfigurationSection, into out: inout Configuration
  ) -> [(name: String, place: ConfigurationMistake.Place)] {
    let deployment = out.deployment
    out.anthropic = provider(
      section, Anthropic.init(apiKey:), deployment,
      price: { tokenPrice($0, provider: Anthropic.name, .anthropic) }
    ) {
      if let value = $0.entry("max_tokens")?.integer(1...1_000_000) { $1.maxTokens = value }
      if let entry = $0.entry("betas") { $1.betas = entry.strings().map(\.text) }
    }
    out.openAI = provider(section, OpenAI.init(apiKey:), deployment, price: openAIPrice) {
      if let value = $0.entry("max_tokens")?.integer(1...1_000_000) { $1.maxTokens = value }
      if let value = $0.entry("max_choices")?.integer(1...128) { $1.maxChoices = value }
    }
    out.fal = provider(section, Fal.init(apiKey:), deployment, price: falPrice) {
      fal($0, deployment, into: &$1)
    }
    section.finish()
    return out.providers.filter(\.models.isEmpty).map { provider in
      let section = section.section(provider.name)
      return (provider.name, section.entry("models")?.place ?? section.here)
    }
  }

  /// A provider without a model is for functions, or for nothing.
  static func checkModels(
    _ bare: [(name: String, place: ConfigurationMistake.Place)], _ root: ConfigurationSection,
    _ out: Configuration
  ) {
    for (name, place) in bare where !out.functions.contains(where: { $0.definition.provider == name }) {
      guard !root.reading.survey, let provider = out.providers.first(where: { $0.name == name }) else {
        continue
      }
      root.reading.mistake(
        "providers.\(name).models", place, "no model is allowed, and no function uses the provider",
        "write those that devices may use, such as [\"\(type(of: provider).exampleModel)\"]")
    }
  }

  private static func openAIPrice(_ section: ConfigurationSection) -> PriceRow? {
    let reasons = section.entry("reasons")?.bool()
    var row = tokenPrice(section, provider: OpenAI.name, .openAI)
    if let reasons { row?.reasons = reasons }
    return row
  }

  /// Reads the section of one provider; nil where it is absent.
  ///
  /// - Parameters:
  ///   - price: reads a row of its `prices`.
  ///   - more: reads the keys that no other provider has.
  private static func provider<Settings: ConfiguredProvider>(
    _ providers: ConfigurationSection, _ make: (Secret) -> Settings, _ deployment: Deployment,
    price: (ConfigurationSection) -> PriceRow?, _ more: (ConfigurationSection, inout Settings) -> Void
  ) -> Settings? {
    let section = providers.section(Settings.name)
    guard section.isPresent else { return nil }
    var out = make(section.secret("api_key") ?? Secret(""))
    if let text = baseURL(section, "base_url", deployment, example: out.baseURL) { out.baseURL = text }
    if let rows = section.objects("prices", price) { out.prices = rows }
    models(section, into: &out)
    if let value = section.entry("policy")?.choice(RoutePolicy.self) { out.policy = value }
    if let value = section.entry("body_limit")?.integer(1024...33_554_432) { out.bodyLimit = Int(value) }
    more(section, &out)
    section.finish()
    return out
  }

  /// A base URL under that key; nil where there is none.
  static func baseURL(
    _ section: ConfigurationSection, _ key: String, _ deployment: Deployment, example: String
  ) -> String? {
    guard let entry = section.entry(key), let text = entry.string() else { return nil }
    guard let base = BaseURL(text) else {
      section.reading.mistake(
        entry, "this is no base URL", "write \"\(example)\", without a slash at the end")
      return nil
    }
    if base.scheme != "https", !base.isLoopback {
      section.reading.mistake(
        entry, "the key would travel in clear", "write https://, or a loopback address in development")
    } else if base.scheme != "https", deployment == .production {
      section.reading.mistake(entry, "production needs https", "write https://…")
    }
    return text
  }

  private static func models<Settings: ConfiguredProvider>(
    _ section: ConfigurationSection, into out: inout Settings
  ) {
    let entry = section.entry("models")
    out.models = entry?.strings().map(\.text) ?? []
    let table = out.priceTable
    for (model, place) in entry?.strings() ?? []
    where table.row(provider: Settings.name, model: model, at: .max) == nil {
      section.reading.mistake(
        place, "this model has no price, so what it costs cannot be bounded",
        "add a row to \(section.path).prices, or take one of \(pricedModels(Settings.name))")
    }
    guard Settings.hasAliases, let aliases = section.entry("aliases") else { return }
    guard let members = aliases.value.members else {
      section.reading.mistake(
        aliases, "an object belongs here", "write { \"fast\": \"\(Settings.exampleModel)\" }")
      return
    }
    for member in members {
      let place = section.reading.place(of: member.value.range.lowerBound)
      guard let model = member.value.string, out.models.contains(model) else {
        section.reading.mistake(
          "\(aliases.path).\(member.name)", aliases.variableText == nil ? place : aliases.place,
          "the alias stands for no allowed model", "write one of models")
        continue
      }
      if out.models.contains(member.name) {
        section.reading.mistake(
          "\(aliases.path).\(member.name)", aliases.variableText == nil ? place : aliases.place,
          "the alias is the name of a model", "choose another name")
      }
      out.aliases[member.name] = model
    }
  }

  /// The provider's models that Bramley brings prices for.
  private static func pricedModels(_ provider: String) -> String {
    PriceTable.shipped.rows.filter { $0.provider == provider }.map(\.model).joined(separator: ", ")
  }
}
