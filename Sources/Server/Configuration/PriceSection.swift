import Encodings
import Gateway

/// How a provider's prices by tokens are written: dollars for a million of them.
struct TokenPriceKeys: Sendable {
  /// The keys that every row has.
  var required: [String]
  /// The key of a price that a row may have.
  var optional: String
  /// The most tokens of an image where neither the row nor a shipped one of the model tells.
  var imageTokens: Int64
  /// The prices of the required keys in their order, and that of the optional one.
  var prices: @Sendable (_ amounts: [Int64], _ optional: Int64?) -> TokenPrices

  static let anthropic = TokenPriceKeys(
    required: ["input", "output", "cache_read", "cache_write_5m"], optional: "cache_write_1h",
    imageTokens: 4_800
  ) {
    TokenPrices(input: $0[0], output: $0[1], cacheRead: $0[2], cacheWrite5m: $0[3], cacheWrite1h: $1)
  }

  /// What is written to the cache costs what input does, where nothing else is said.
  static let openAI = TokenPriceKeys(
    required: ["input", "output", "cache_read"], optional: "cache_write", imageTokens: 25_000
  ) {
    TokenPrices(
      input: $0[0], output: $0[1], cacheRead: $0[2], cacheWrite5m: $1 ?? $0[0], cacheWrite1h: nil)
  }
}

extension Configuration {
  /// A row of `prices` of the provider of that name.
  static func tokenPrice(
    _ section: ConfigurationSection, provider: String, _ keys: TokenPriceKeys
  ) -> PriceRow? {
    let model = section.entry("model")
    let context = section.entry("context")
    let output = section.entry("max_output")
    let prices = prices(section, keys)
    let tier = section.section("long_context")
    let long = longContext(tier, keys)
    let image = section.entry("image_tokens")?.integer(1...1_000_000)
    let from = section.entry("from").map(day)
    let source = section.entry("source")?.string()
    if section.reading.survey { return nil }
    guard let model, let context, let output, keys.required.allSatisfy({ section.entry($0) != nil }) else {
      section.reading.mistake(
        section.path, section.here, "a part is missing",
        "write model, \(keys.required.joined(separator: ", ")), context and max_output")
      return nil
    }
    guard let name = model.string(), let prices, let size = context.integer(1...100_000_000),
      let most = output.integer(1...10_000_000), !tier.isPresent || long != nil, from != .some(nil)
    else { return nil }
    var row = PriceRow(
      provider: provider, model: name, prices: prices, longContext: long, contextSize: size,
      maximumOutput: most, effectiveFrom: (from ?? nil) ?? 0, source: source ?? "configuration")
    // A new price changes no picture: one must not be held at less than before (RULES §5.3).
    let shipped = PriceTable.shipped.row(provider: provider, model: name, at: .max)?.tokensPerImage
    row.tokensPerImage = image ?? shipped ?? keys.imageTokens
    return row
  }

  private static func longContext(
    _ section: ConfigurationSection, _ keys: TokenPriceKeys
  ) -> PriceRow.LongContext? {
    guard section.isPresent else { return nil }
    let above = section.entry("above")
    let prices = prices(section, keys)
    section.finish()
    if section.reading.survey { return nil }
    guard let above, keys.required.allSatisfy({ section.entry($0) != nil }) else {
      section.reading.mistake(
        section.path, section.here, "a part is missing",
        "write above and \(keys.required.joined(separator: ", "))")
      return nil
    }
    guard let tokens = above.integer(1...100_000_000), let prices else { return nil }
    return PriceRow.LongContext(above: tokens, prices: prices)
  }

  /// The prices that stand in the section; nil where one is missing or none.
  private static func prices(_ section: ConfigurationSection, _ keys: TokenPriceKeys) -> TokenPrices? {
    let amounts = keys.required.map { section.entry($0).flatMap(dollars) }
    let optional = section.entry(keys.optional).map(dollars)
    guard !amounts.contains(nil), optional != .some(nil) else { return nil }
    return keys.prices(amounts.compactMap(\.self), optional ?? nil)
  }

  private static func dollars(_ entry: ConfigurationEntry) -> Int64? {
    guard let text = entry.string() else { return nil }
    if let amount = PicoDollars.perMillionTokens(text) { return amount }
    entry.reading.mistake(
      entry, "this is no price", "write dollars for a million tokens in quotes such as \"0.10\"")
    return nil
  }

  /// The beginning of a day, UTC, seconds since 1970.
  static func day(_ entry: ConfigurationEntry) -> Int64? {
    guard let text = entry.string() else { return nil }
    if text.utf8.count == 10, let seconds = RFC3339.seconds(text + "T00:00:00Z") { return seconds }
    entry.reading.mistake(entry, "this is no day", "write it such as \"2026-11-30\"")
    return nil
  }
}
