/// What one token costs, by class, in pico-dollars. Absolute prices: the ratio of a cached to a fresh token is
/// not the same for every model.
package struct TokenPrices: Sendable, Equatable {
  package var input: Int64
  package var output: Int64
  package var cacheRead: Int64
  /// Writing to the cache for five minutes.
  package var cacheWrite5m: Int64
  /// Writing to the cache for an hour; nil where it has no price, and then no request may ask for it.
  package var cacheWrite1h: Int64?

  package init(input: Int64, output: Int64, cacheRead: Int64, cacheWrite5m: Int64, cacheWrite1h: Int64?) {
    self.input = input
    self.output = output
    self.cacheRead = cacheRead
    self.cacheWrite5m = cacheWrite5m
    self.cacheWrite1h = cacheWrite1h
  }

  /// Whether no price is negative.
  package var isValid: Bool {
    [input, output, cacheRead, cacheWrite5m, cacheWrite1h ?? 0].allSatisfy { $0 >= 0 }
  }
}

/// What a model costs by something other than tokens: an image, a second of video, a megapixel.
package struct UnitPrice: Sendable, Equatable {
  /// What is counted, such as `image`.
  package var unit: String
  /// Pico-dollars for one.
  package var price: Int64

  package init(unit: String, price: Int64) {
    self.unit = unit
    self.price = price
  }

  /// What so many millionths of a unit cost in pico-dollars, rounded up: providers bill parts of a second. nil
  /// for a negative count or what does not fit.
  package func cost(microUnits: Int64) -> Int64? {
    guard microUnits >= 0, price >= 0 else { return nil }
    let million: Int64 = 1_000_000
    let (high, low) = microUnits.multipliedFullWidth(by: price)
    guard high < million / 2 else { return nil }
    let (quotient, remainder) = million.dividingFullWidth((high, low))
    return PicoDollars.sum([quotient, remainder == 0 ? 0 : 1])
  }
}

/// A model's price and bounds, from an instant on. Without a row there is no request (RULES §5.3).
package struct PriceRow: Sendable, Equatable {
  /// Other prices for the whole request once its input is longer than the threshold.
  package struct LongContext: Sendable, Equatable {
    /// Input tokens of all classes together; above it the prices hold.
    package var above: Int64
    package var prices: TokenPrices

    package init(above: Int64, prices: TokenPrices) {
      self.above = above
      self.prices = prices
    }
  }

  /// The provider's name in the configuration, such as `anthropic`.
  package var provider: String
  /// The provider's own model name.
  package var model: String
  /// Further names of the same model. One that ends in `-*` stands for a date: eight digits.
  package var aliases: [String]
  package var prices: TokenPrices
  package var longContext: LongContext?
  /// What the model costs by units, where it is not priced by tokens, or not by them alone.
  package var unit: UnitPrice?
  /// The most tokens an image can come to.
  package var tokensPerImage: Int64
  /// Tokens that the provider adds for each message and for the request itself.
  package var tokensPerMessage: Int64
  /// Tokens that the provider adds for each tool's frame.
  package var tokensPerTool: Int64
  /// Tokens of a prompt that the provider adds by itself: once for a request that has tools, for each tool
  /// whose shape is its own, and for an output format.
  package var tokensPerPrompt: Int64
  /// The most tokens of input that the model takes.
  package var contextSize: Int64
  /// The most tokens that the model gives out.
  package var maximumOutput: Int64
  /// Whether the model may think without the stream showing it, which is paid as output. Of no account where the
  /// request itself says whether it thinks.
  package var reasons: Bool
  /// Seconds since 1970.
  package var effectiveFrom: Int64
  /// Where the figures were read.
  package var source: String

  package init(
    provider: String, model: String, aliases: [String] = [], prices: TokenPrices,
    longContext: LongContext? = nil, unit: UnitPrice? = nil, tokensPerImage: Int64 = 4_800,
    tokensPerMessage: Int64 = 16,
    tokensPerTool: Int64 = 64, tokensPerPrompt: Int64 = 1_024, contextSize: Int64, maximumOutput: Int64,
    reasons: Bool = true, effectiveFrom: Int64 = 0, source: String
  ) {
    self.provider = provider
    self.model = model
    self.aliases = aliases
    self.prices = prices
    self.longContext = longContext
    self.unit = unit
    self.tokensPerImage = tokensPerImage
    self.tokensPerMessage = tokensPerMessage
    self.tokensPerTool = tokensPerTool
    self.tokensPerPrompt = tokensPerPrompt
    self.contextSize = contextSize
    self.maximumOutput = maximumOutput
    self.reasons = reasons
    self.effectiveFrom = effectiveFrom
    self.source = source
  }

  /// A row of a model that is priced by units alone.
  package init(
    provider: String, model: String, aliases: [String] = [], unit: UnitPrice, effectiveFrom: Int64 = 0,
    source: String
  ) {
    self.init(
      provider: provider, model: model, aliases: aliases,
      prices: TokenPrices(input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: nil), unit: unit,
      contextSize: 0, maximumOutput: 0, effectiveFrom: effectiveFrom, source: source)
  }

  /// Whether the row prices that model name.
  package func covers(_ name: String) -> Bool {
    if name == model { return true }
    return aliases.contains { alias in
      if alias == name { return true }
      guard alias.hasSuffix("-*"), name.utf8.count == alias.utf8.count + 7 else { return false }
      return name.utf8.starts(with: alias.utf8.dropLast())
        && name.utf8.suffix(8).allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }
  }

  /// The prices for a request whose input has that many tokens of all classes.
  package func prices(forInput tokens: Int64) -> TokenPrices {
    if let longContext, tokens > longContext.above { longContext.prices } else { prices }
  }
}
