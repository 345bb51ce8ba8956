import Encodings
import Gateway

extension Configuration {
  /// Reads `providers.anthropic`.
  static func anthropic(_ section: ConfigurationSection, _ deployment: Deployment) -> Anthropic? {
    let secret = section.secret("api_key")
    var out = Anthropic(apiKey: secret ?? Secret(""))
    if let entry = section.entry("base_url"), let text = entry.string() {
      if let base = BaseURL(text) {
        out.baseURL = text
        if base.scheme != "https", !base.isLoopback {
          section.reading.mistake(
            entry, "the key would travel in clear", "write https://, or a loopback address in development")
        } else if base.scheme != "https", deployment == .production {
          section.reading.mistake(entry, "production needs https", "write https://…")
        }
      } else {
        section.reading.mistake(
          entry, "this is no base URL", "write \"https://api.anthropic.com\", without a slash at the end")
      }
    }
    if let rows = section.objects("prices", price) { out.prices = rows }
    models(section, into: &out)
    if let value = section.entry("max_tokens")?.integer(1...1_000_000) { out.maxTokens = value }
    if let entry = section.entry("betas") { out.betas = entry.strings().map(\.text) }
    if let value = section.entry("policy")?.choice(RoutePolicy.self) { out.policy = value }
    if let value = section.entry("body_limit")?.integer(1024...33_554_432) { out.bodyLimit = Int(value) }
    section.finish()
    return out
  }

  private static func models(_ section: ConfigurationSection, into out: inout Anthropic) {
    let entry = section.entry("models")
    out.models = entry?.strings().map(\.text) ?? []
    if out.models.isEmpty, !section.reading.survey {
      section.reading.mistake(
        "\(section.path).models", entry?.place ?? section.here, "no model is allowed",
        "write those that devices may use, such as [\"claude-haiku-4-5\"]")
    }
    let table = PriceTable.shipped.overridden(by: out.prices)
    for (model, place) in entry?.strings() ?? []
    where table.row(provider: "anthropic", model: model, at: .max) == nil {
      section.reading.mistake(
        place, "this model has no price, so what it costs cannot be bounded",
        "add a row to \(section.path).prices, or take one of \(Self.pricedModels)")
    }
    guard let aliases = section.entry("aliases") else { return }
    guard let members = aliases.value.members else {
      section.reading.mistake(
        aliases, "an object belongs here", "write { \"fast\": \"claude-haiku-4-5\" }")
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

  /// The models that Bramley brings prices for.
  private static var pricedModels: String { PriceTable.shipped.rows.map(\.model).joined(separator: ", ") }

  /// A row of prices, dollars for a million tokens.
  private static func price(_ section: ConfigurationSection) -> PriceRow? {
    let model = section.entry("model")
    let names = ["input", "output", "cache_read", "cache_write_5m"]
    let entries = names.map { section.entry($0) }
    let hour = section.entry("cache_write_1h")
    let context = section.entry("context")
    let output = section.entry("max_output")
    if section.reading.survey { return nil }
    guard let model, let context, let output, !entries.contains(where: { $0 == nil }) else {
      section.reading.mistake(
        section.path, section.here, "a part is missing",
        "write model, \(names.joined(separator: ", ")), context and max_output")
      return nil
    }
    let amounts = entries.compactMap { $0.flatMap(dollars) }
    let long = hour.map(dollars)
    guard let name = model.string(), amounts.count == 4, long == nil || long != .some(nil),
      let size = context.integer(1...100_000_000), let most = output.integer(1...10_000_000)
    else { return nil }
    return PriceRow(
      provider: "anthropic", model: name,
      prices: TokenPrices(
        input: amounts[0], output: amounts[1], cacheRead: amounts[2], cacheWrite5m: amounts[3],
        cacheWrite1h: long ?? nil),
      contextSize: size, maximumOutput: most, source: "configuration")
  }

  private static func dollars(_ entry: ConfigurationEntry) -> Int64? {
    guard let text = entry.string() else { return nil }
    if let amount = PicoDollars.perMillionTokens(text) { return amount }
    entry.reading.mistake(
      entry, "this is no price", "write dollars for a million tokens in quotes such as \"0.10\"")
    return nil
  }
}
