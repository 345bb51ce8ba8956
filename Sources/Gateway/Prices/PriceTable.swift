/// The price rows in layers: a configuration's own before the shipped ones.
package struct PriceTable: Sendable, Equatable {
  private var layers: [[PriceRow]]

  /// These rows and no others.
  package init(_ rows: [PriceRow]) { layers = [rows] }

  /// All rows, the configuration's own first.
  package var rows: [PriceRow] { layers.flatMap(\.self) }

  /// This table with `overrides` before it: where one of them is in force for a model, no row of this table
  /// is looked at.
  package func overridden(by overrides: [PriceRow]) -> PriceTable {
    var table = self
    table.layers.insert(overrides, at: 0)
    return table
  }

  /// The row in force for a model at an instant (seconds since 1970): of the layer's rows that cover the name,
  /// the latest that has begun; of equals, the one that stands first. nil: no row, no request.
  package func row(provider: String, model: String, at now: Int64) -> PriceRow? {
    for layer in layers {
      var best: PriceRow?
      for row in layer where row.provider == provider && row.effectiveFrom <= now && row.covers(model) {
        if let chosen = best, chosen.effectiveFrom >= row.effectiveFrom { continue }
        best = row
      }
      if let best { return best }
    }
    return nil
  }
}

extension PriceTable {
  /// The rows that come with Bramley. They are the figures of LiteLLM's price file as bundled in its version
  /// 1.108.7; an operator compares them with the provider's own page and overrides what has changed.
  package static let shipped = PriceTable(anthropic + openAI + fal)

  private static let anthropic: [PriceRow] = [
    anthropic("claude-haiku-4-5", "1", "5", "0.10", "1.25", "2", context: 200_000, output: 64_000),
    anthropic(
      "claude-haiku-5-5", "0.10", "0.50", "0.01", "0.125", "0.20", context: 1_000_000, output: 128_000,
      long: (100_000, 5)),
    anthropic("claude-sonnet-5-5", "2", "10", "0.10", "2.5", "4", context: 1_000_000, output: 128_000),
    anthropic("claude-sonnet-5", "2", "10", "0.20", "2.5", "4", context: 1_000_000, output: 128_000),
    anthropic("claude-opus-5-5", "4", "20", "0.20", "5", "8", context: 1_000_000, output: 128_000),
    anthropic("claude-opus-5", "5", "25", "0.50", "6.25", "10", context: 1_000_000, output: 128_000),
  ]

  private static let fal: [PriceRow] = [
    // fal bills it by the begun megapixel; the file has the price as that of an image.
    PriceRow(
      provider: "fal", model: "fal-ai/flux/schnell",
      unit: UnitPrice(unit: FalUnit.megapixel.rawValue, price: PicoDollars.dollars("0.003") ?? 0),
      source: "LiteLLM 1.108.7")
  ]

  /// Dollars for a million tokens: input, output, cache read, cache write for 5 minutes and for an hour.
  private static func anthropic(
    _ model: String, _ input: String, _ output: String, _ read: String, _ write5m: String, _ write1h: String,
    context: Int64, output maximumOutput: Int64, long: (above: Int64, factor: Int64)? = nil
  ) -> PriceRow {
    func price(_ text: String, _ factor: Int64) -> Int64 {
      (PicoDollars.perMillionTokens(text) ?? 0) * factor
    }
    func prices(_ factor: Int64) -> TokenPrices {
      TokenPrices(
        input: price(input, factor), output: price(output, factor), cacheRead: price(read, factor),
        cacheWrite5m: price(write5m, factor), cacheWrite1h: price(write1h, factor))
    }
    return PriceRow(
      provider: "anthropic", model: model, aliases: [model + "-*"], prices: prices(1),
      longContext: long.map { PriceRow.LongContext(above: $0.above, prices: prices($0.factor)) },
      contextSize: context, maximumOutput: maximumOutput, source: "LiteLLM 1.108.7")
  }
}
