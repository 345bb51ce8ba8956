extension PriceTable {
  /// OpenAI's models in the figures of LiteLLM 1.108.7's price file. Input above 272,000 tokens costs twice as
  /// much, and output half as much again, for the models whose file says so.
  static let openAI: [PriceRow] = [
    openAI("gpt-6-luna", "0.10", "0.50", "0.01", write: "0.125", input: 922_000, long: true),
    openAI("gpt-6-sol", "2", "10", "0.20", write: "2.5", input: 922_000, long: true),
    openAI("gpt-6.1-sol", "2", "10", "0.10", write: "2.5", input: 922_000, long: true),
    openAI("gpt-6-astra", "10", "50", "1", write: "12.5", input: 922_000, long: true),
    openAI("gpt-5.6-luna", "0.20", "1.20", "0.02", write: "0.25", input: 922_000, long: true),
    openAI("gpt-5.6-terra", "2", "12", "0.20", write: "2.5", input: 922_000, long: true),
    openAI("gpt-5.6-sol", "4", "20", "0.40", write: "5", input: 922_000, long: true),
    openAI("gpt-5.5", dated: "2026-04-23", "5", "30", "0.50", input: 1_050_000, long: true),
    openAI("gpt-5.4", dated: "2026-03-05", "2.5", "15", "0.25", input: 1_050_000, long: true),
    openAI("gpt-5.4-mini", dated: "2026-03-17", "0.75", "4.5", "0.075", input: 272_000),
    openAI("gpt-5.4-nano", dated: "2026-03-17", "0.20", "1.25", "0.02", input: 272_000),
    openAI("gpt-5.2", dated: "2025-12-11", "1.75", "14", "0.175", input: 272_000),
    openAI("gpt-5.1", dated: "2025-11-13", "1.25", "10", "0.125", input: 272_000),
    openAI("gpt-5", dated: "2025-08-07", "1.25", "10", "0.125", input: 272_000),
    openAI("gpt-5-mini", dated: "2025-08-07", "0.25", "2", "0.025", input: 272_000),
    openAI("gpt-5-nano", dated: "2025-08-07", "0.05", "0.40", "0.005", input: 272_000),
    openAI(
      "gpt-4.1", dated: "2025-04-14", "2", "8", "0.50", input: 1_047_576, output: 32_768, reasons: false),
    openAI(
      "gpt-4.1-mini", dated: "2025-04-14", "0.40", "1.60", "0.10", input: 1_047_576, output: 32_768,
      reasons: false),
    openAI(
      "gpt-4.1-nano", dated: "2025-04-14", "0.10", "0.40", "0.025", input: 1_047_576, output: 32_768,
      reasons: false),
    openAI(
      "gpt-4o", dated: "2024-11-20", "2.5", "10", "1.25", input: 128_000, output: 16_384, reasons: false),
    // Its images count 33 times what those of gpt-4o do.
    openAI(
      "gpt-4o-mini", dated: "2024-07-18", "0.15", "0.60", "0.075", input: 128_000, output: 16_384,
      image: 64_000, reasons: false),
  ]

  /// Dollars for a million tokens: input, output, cached input, and input written to the cache, which costs what
  /// input does where nothing is said.
  private static func openAI(
    _ model: String, dated: String? = nil, _ input: String, _ output: String, _ read: String,
    write: String? = nil, input context: Int64, output maximumOutput: Int64 = 128_000, image: Int64 = 25_000,
    reasons: Bool = true, long: Bool = false
  ) -> PriceRow {
    func price(_ text: String) -> Int64 { PicoDollars.perMillionTokens(text) ?? 0 }
    func prices(_ halves: (input: Int64, output: Int64)) -> TokenPrices {
      TokenPrices(
        input: price(input) * halves.input / 2, output: price(output) * halves.output / 2,
        cacheRead: price(read) * halves.input / 2, cacheWrite5m: price(write ?? input) * halves.input / 2,
        cacheWrite1h: nil)
    }
    return PriceRow(
      provider: "openai", model: model, aliases: dated.map { ["\(model)-\($0)"] } ?? [],
      prices: prices((2, 2)),
      longContext: long ? PriceRow.LongContext(above: 272_000, prices: prices((4, 3))) : nil,
      tokensPerImage: image, contextSize: context, maximumOutput: maximumOutput, reasons: reasons,
      source: "LiteLLM 1.108.7")
  }
}
