import Gateway

/// The functions that `bramley dev` brings, and that docs/functions.md explains: one of each kind of provider.
package enum ExampleFunctions {
  /// As Configuration/functions.example.jsonc has them.
  package static func functions(
    over configuration: Configuration
  ) throws(ConfigurationMistakes) -> [Configuration.Function] {
    let providers = Set(configuration.providers.map(\.name))
    let texts = [
      ("anthropic", calories(fallingBack: providers.contains("openai"))), ("openai", creatureName),
      ("fal", creaturePicture), ("fal", creaturePortrait),
    ].filter { provider, text in
      // What is stored is a user's.
      providers.contains(provider) && (configuration.auth != nil || text != creaturePortrait)
    }.map(\.1)
    return try Configuration.functions(
      Array("{ \"functions\": { \(texts.joined(separator: ",")) } }".utf8), over: configuration)
  }

  /// What they may be called, beside all that a phone may do in a day.
  package static func quotas(of functions: [Configuration.Function]) -> [Configuration.QuotaRule] {
    let rules: [Configuration.QuotaRule] = [
      .init(name: "creature-names", subject: .key, limit: 1, function: "creature_name"),
      .init(name: "creature-pictures", subject: .key, limit: 3, function: "creature_picture"),
      .init(name: "creature-portraits", subject: .key, limit: 3, function: "creature_portrait"),
    ]
    return rules.filter { rule in functions.contains { $0.definition.name == rule.function } }
  }

  private static func calories(fallingBack: Bool) -> String {
    let fallbacks = #""fallbacks": [{ "provider": "openai", "model": "gpt-4.1-mini" }],"#
    return #"""
      "calories": {
        "provider": "anthropic",
        "model": "claude-haiku-4-5",
        \#(fallingBack ? fallbacks : "")
        "system": "You estimate the energy of meals for a food diary. Answer with {\"kcal\": whole number, \"items\": [{\"name\": text, \"kcal\": whole number}], \"confidence\": \"low\", \"medium\" or \"high\"}.",
        "template": "The meal: {{meal}}. Its weight in grams, if it was weighed: {{grams}}.",
        "input": {
          "meal": { "type": "string", "max_length": 500 },
          "grams": { "type": "integer", "minimum": 1, "maximum": 5000, "optional": true }
        },
        "output": "json",
        "result": "stream",
        "max_tokens": 600,
        "cache": "5m",
        "policy": "session"
      }
      """#
  }

  private static let creatureName = #"""
    "creature_name": {
      "provider": "openai",
      "model": "gpt-4.1-mini",
      "system": "You invent names for friendly creatures in a children's game. Answer with one name and nothing else.",
      "template": "The creature is {{mood}} and lives in {{home}}.",
      "input": {
        "mood": { "type": "enum", "values": ["brave", "shy", "sleepy", "curious"] },
        "home": { "type": "string", "max_length": 60 }
      },
      "max_tokens": 30,
      "temperature": 1,
      "policy": "session"
    }
    """#

  private static let creaturePicture = #"""
    "creature_picture": {
      "provider": "fal",
      "model": "fal-ai/flux/schnell",
      "kind": "image",
      "template": "A friendly creature called {{name}}, {{mood}}, in the style of a watercolour in a children's book. No text.",
      "input": {
        "name": { "type": "string", "max_length": 40 },
        "mood": { "type": "enum", "values": ["brave", "shy", "sleepy", "curious"] }
      },
      "parameters": { "image_size": "square_hd", "num_images": 1 },
      "policy": "session"
    }
    """#

  private static let creaturePortrait = #"""
    "creature_portrait": {
      "provider": "fal",
      "model": "fal-ai/flux/schnell",
      "kind": "image",
      "template": "A portrait of a friendly creature called {{name}}, {{mood}}, in oil on canvas. No text.",
      "input": {
        "name": { "type": "string", "max_length": 40 },
        "mood": { "type": "enum", "values": ["brave", "shy", "sleepy", "curious"] }
      },
      "parameters": { "image_size": "square_hd", "num_images": 1 },
      "result": "store",
      "policy": "session",
      "sign_in": "anonymous"
    }
    """#
}
