import Encodings

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
}
