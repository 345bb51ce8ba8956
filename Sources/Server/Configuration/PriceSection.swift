import Encodings
import Gateway

extension Configuration {
  /// A row of Anthropic's prices: dollars for a million tokens.
  static func anthropicPrice(_ section: ConfigurationSection) -> PriceRow? {
    tokenPrice(
      section, provider: Anthropic.name, names: ["input", "output", "cache_read", "cache_write_5m"],
      more: "cache_write_1h"
    ) { amounts, hour in
      TokenPrices(
        input: amounts[0], output: amounts[1], cacheRead: amounts[2], cacheWrite5m: amounts[3],
        cacheWrite1h: hour)
    }
  }

  /// A row of prices by tokens.
  ///
  /// - Parameters:
  ///   - names: the keys of the prices that every row has.
  ///   - more: the key of one that it may have.
  ///   - make: the prices, in the order of the keys.
  private static func tokenPrice(
    _ section: ConfigurationSection, provider: String, names: [String], more: String,
    _ make: (_ amounts: [Int64], _ more: Int64?) -> TokenPrices
  ) -> PriceRow? {
    let model = section.entry("model")
    let entries = names.map { section.entry($0) }
    let further = section.entry(more)
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
    let last = further.map(dollars)
    guard let name = model.string(), amounts.count == names.count, last == nil || last != .some(nil),
      let size = context.integer(1...100_000_000), let most = output.integer(1...10_000_000)
    else { return nil }
    return PriceRow(
      provider: provider, model: name, prices: make(amounts, last ?? nil), contextSize: size,
      maximumOutput: most, source: "configuration")
  }

  private static func dollars(_ entry: ConfigurationEntry) -> Int64? {
    guard let text = entry.string() else { return nil }
    if let amount = PicoDollars.perMillionTokens(text) { return amount }
    entry.reading.mistake(
      entry, "this is no price", "write dollars for a million tokens in quotes such as \"0.10\"")
    return nil
  }
}
