import Encodings
import Gateway
import Testing

@testable import Server

@Suite("The sections of providers")
struct ProviderSectionTests {
  private static let both = """
    { "providers": {
      "anthropic": { "api_key": { "env": "A" }, "models": ["claude-haiku-4-5"] },
      "openai": {
        "api_key": { "env": "O" }, "models": ["gpt-6-luna"], "aliases": { "fast": "gpt-6-luna" },
        "max_tokens": 512, "max_choices": 2, "policy": "session", "body_limit": 4096
      } } }
    """

  private func read(_ text: String) throws(ConfigurationMistakes) -> Configuration {
    try Configuration.read(
      ConfigurationSources(text: Array(text.utf8), variables: ["A": "sk-a", "O": "sk-o"]))
  }

  private func mistakes(_ text: String) -> [String] {
    do {
      _ = try read(text)
      return []
    } catch { return error.mistakes.map(\.path) }
  }

  @Test("several providers stand beside each other, each with a key, a policy and limits of its own")
  func several() throws {
    let configuration = try read(Self.both)
    #expect(configuration.providers.map(\.name) == ["anthropic", "openai"])
    let openAI = try #require(configuration.openAI)
    #expect(openAI.apiKey.value == "sk-o" && configuration.anthropic?.apiKey.value == "sk-a")
    #expect(openAI.baseURL == "https://api.openai.com" && openAI.policy == .session)
    #expect(openAI.maxTokens == 512 && openAI.maxChoices == 2 && openAI.bodyLimit == 4_096)
    #expect(openAI.modelNames == ["gpt-6-luna": "gpt-6-luna", "fast": "gpt-6-luna"])
    let target = try #require(ProviderTarget(openAI))
    #expect(
      target.path("/v1/chat/completions") == "/ai/openai/v1/chat/completions" && target.errors == .openAI)
    #expect(
      target.pseudonym(keyID: [1])
        != ProviderTarget(try #require(configuration.anthropic))?.pseudonym(keyID: [1]))
  }

  @Test("a provider's model needs a price of that very provider")
  func prices() {
    #expect(
      mistakes(Self.both.replacing("gpt-6-luna", with: "claude-haiku-4-5")) == ["providers.openai.models[0]"])
    #expect(
      mistakes(Self.both.replacing("\"claude-haiku-4-5\"", with: "\"gpt-6-luna\"")) == [
        "providers.anthropic.models[0]"
      ])
  }

  @Test("a provider that only functions use names no model, and no device may name one")
  func functionsAlone() throws {
    func text(_ models: String, _ provider: String) -> String {
      """
      { "providers": {
          "anthropic": { "api_key": { "env": "A" }, "models": ["claude-haiku-4-5"] },
          "openai": { "api_key": { "env": "O" }\(models) } },
        "functions": { "f": { "provider": "\(provider)", "template": "Hello.",
          "model": "\(provider == "openai" ? "gpt-4.1-mini" : "claude-haiku-4-5")" } } }
      """
    }
    for models in ["", #", "models": []"#] {
      let configuration = try read(text(models, "openai"))
      #expect(configuration.openAI?.modelNames == [:])
      #expect(configuration.functions.map(\.definition.model) == ["gpt-4.1-mini"])
      #expect(mistakes(text(models, "anthropic")) == ["providers.openai.models"])
    }
    #expect(
      mistakes(#"{ "providers": { "openai": { "api_key": { "env": "O" } } } }"#) == [
        "providers.openai.models"
      ])
  }

  @Test("an open route of any provider needs a cap for all, and money a budget")
  func caps() {
    let open = Self.both.replacing("\"session\"", with: "\"none\"")
    #expect(mistakes(open) == [])
    let without = open.dropLast() + #", "budgets": [{ "name": "b", "subject": "key", "dollars": "1" }] }"#
    #expect(mistakes(String(without)) == ["providers.openai.policy"])
    #expect(mistakes(String(Self.both.dropLast() + #", "budgets": [] }"#)) == ["budgets"])
    // Whoever does not sign in has no user.
    let users = #", "budgets": [{ "name": "b", "subject": "user", "dollars": "1" }] }"#
    #expect(mistakes(String(Self.both.dropLast() + users)) == ["budgets"])
  }

  @Test("a row of prices may have a dearer tier, a day from which it holds, and a source")
  func rows() throws {
    let row = """
      { "model": "gpt-7", "input": "1", "output": "4", "cache_read": "0.1", "context": 1000, "max_output": 100,
        "long_context": { "above": 500, "input": "2", "output": "6", "cache_read": "0.2", "cache_write": "2.5" },
        "image_tokens": 300, "reasons": false, "from": "2026-12-01", "source": "OpenAI's page of 2026-11-30" }
      """
    let text = Self.both.replacing("\"gpt-6-luna\"]", with: "\"gpt-7\"], \"prices\": [\(row)]")
      .replacing("\"gpt-6-luna\" }", with: "\"gpt-7\" }")
    let price = try #require(try read(text).openAI?.prices.first)
    #expect(price.provider == "openai" && price.prices.cacheWrite5m == 1_000_000 && !price.reasons)
    #expect(price.longContext?.above == 500 && price.longContext?.prices.output == 6_000_000)
    #expect(price.longContext?.prices.cacheWrite5m == 2_500_000 && price.tokensPerImage == 300)
    #expect(price.effectiveFrom == 1_796_083_200 && price.source == "OpenAI's page of 2026-11-30")
    let path = "providers.openai.prices[0]"
    #expect(mistakes(text.replacing("\"2026-12-01\"", with: "\"1 December\"")).contains(path + ".from"))
    #expect(mistakes(text.replacing("\"above\"", with: "\"over\"")).contains(path + ".long_context"))
    #expect(mistakes(text.replacing("\"6\"", with: "6")).contains(path + ".long_context.output"))
    #expect(
      mistakes(text.replacing("\"reasons\": false", with: "\"reasons\": 1")).contains(path + ".reasons"))
  }

  @Test(
    "RULES §5.3: a new price holds no less for a picture than the row that it takes the place of",
    arguments: [("gpt-4o-mini", 64_000), ("gpt-5-mini", 25_000), ("gpt-7", 25_000)])
  func pictures(_ model: String, _ tokens: Int64) throws {
    let row = """
      { "model": "\(model)", "input": "1", "output": "4", "cache_read": "0.1", "context": 128000,
        "max_output": 100 }
      """
    let text = Self.both.replacing("\"gpt-6-luna\"]", with: "\"\(model)\"], \"prices\": [\(row)]")
      .replacing("\"gpt-6-luna\" }", with: "\"\(model)\" }")
    #expect(try read(text).openAI?.prices.first?.tokensPerImage == tokens)
  }

  private static let fal = """
    { "providers": { "fal": {
      "api_key": { "env": "A" }, "models": ["fal-ai/flux/schnell", "fal-ai/nano"],
      "prices": [{ "model": "fal-ai/nano", "unit": "image", "dollars": "0.06", "from": "2026-11-01" }],
      "inputs": [{
        "model": "fal-ai/nano", "max_images": 2, "max_pixels": 0, "prompt_limit": 500,
        "choices": { "aspect_ratio": ["1:1"] } }] } } }
    """

  @Test("fal has models with bounds, prices by units, and a queue elsewhere")
  func fal() throws {
    let configuration = try read(Self.fal)
    let fal = try #require(configuration.fal)
    #expect(configuration.providers.map(\.name) == ["fal"])
    #expect(fal.inputs.first?.choices == ["aspect_ratio": ["1:1"]] && fal.inputs.first?.maximumPixels == 0)
    let target = try #require(ProviderTarget(fal))
    #expect(target.errors == .fal && target.base.authority == "fal.run")
    #expect(target.provider.paths.map(\.path) == ["/run/fal-ai/flux/schnell", "/run/fal-ai/nano"])
    let queue = try #require(ProviderTarget(fal.queue))
    #expect(queue.base.authority == "queue.fal.run")
    #expect(queue.provider.paths.map(\.path) == ["/queue/fal-ai/flux/schnell", "/queue/fal-ai/nano"])
    let row = fal.priceTable.row(provider: "fal", model: "fal-ai/nano", at: .max)
    #expect(row?.unit == UnitPrice(unit: "image", price: 60_000_000_000))
    #expect(fal.priceTable.row(provider: "fal", model: "fal-ai/nano", at: 1_700_000_000) == nil)
  }

  @Test(
    "what fal cannot be bounded by is a mistake",
    arguments: [
      ("fal-ai/flux/schnell", "fal-ai/flux/dev", "providers.fal.models[0]"),
      ("fal-ai/nano", "fal-ai/../x", "providers.fal.models"),
      ("\"image\"", "\"second\"", "providers.fal.prices[0].unit"),
      ("\"0.06\"", "\"-1\"", "providers.fal.prices[0].dollars"),
      ("2026-11-01", "soon", "providers.fal.prices[0].from"),
      ("\"aspect_ratio\": [\"1:1\"]", "\"image_url\": [\"x\"]", "providers.fal.inputs[0].choices.image_url"),
      ("\"aspect_ratio\": [\"1:1\"]", "\"prompt\": [\"x\"]", "providers.fal.inputs[0].choices.prompt"),
      ("\"aspect_ratio\": [\"1:1\"]", "\"seed_mode\": []", "providers.fal.inputs[0].choices.seed_mode"),
      ("\"image\"", "\"megapixel\"", "providers.fal.inputs"),
      ("\"models\":", "\"policy\": \"none\", \"models\":", "providers.fal.policy"),
      ("\"models\":", "\"aliases\": {}, \"models\":", "providers.fal.aliases"),
      ("\"models\":", "\"queue_url\": \"http://queue.example\", \"models\":", "providers.fal.queue_url"),
    ])
  func falMistakes(_ part: String, _ other: String, _ path: String) {
    #expect(mistakes(Self.fal.replacing(part, with: other)).contains(path))
  }
}
