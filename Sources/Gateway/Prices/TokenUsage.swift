/// Tokens by class, as a provider counted them. The classes do not overlap: `input` is without what was read
/// from or written to the cache.
package struct TokenUsage: Sendable, Equatable {
  package var input: Int64
  package var cacheRead: Int64
  package var cacheWrite5m: Int64
  package var cacheWrite1h: Int64
  package var output: Int64
  /// Uses of tools that the provider runs and bills for each use, by the tool's name.
  package var toolUses: [String: Int64]
  /// Millionths of the unit by which the model is priced.
  package var microUnits: Int64

  package init(
    input: Int64 = 0, cacheRead: Int64 = 0, cacheWrite5m: Int64 = 0, cacheWrite1h: Int64 = 0,
    output: Int64 = 0, toolUses: [String: Int64] = [:], microUnits: Int64 = 0
  ) {
    self.input = input
    self.cacheRead = cacheRead
    self.cacheWrite5m = cacheWrite5m
    self.cacheWrite1h = cacheWrite1h
    self.output = output
    self.toolUses = toolUses
    self.microUnits = microUnits
  }

  /// Input tokens of all classes; nil when the sum does not fit.
  package var allInput: Int64? { PicoDollars.sum([input, cacheRead, cacheWrite5m, cacheWrite1h]) }
}

extension PriceRow {
  /// What that usage costs in pico-dollars; nil when it does not fit, when a figure is negative, or when a
  /// class or tool was used that has no price.
  ///
  /// - Parameter toolPrices: pico-dollars a use, by the tool's name.
  package func cost(of usage: TokenUsage, toolPrices: [String: Int64] = [:]) -> Int64? {
    guard let allInput = usage.allInput else { return nil }
    let prices = prices(forInput: allInput)
    var amounts: [Int64] = []
    for (tokens, price) in [
      (usage.input, prices.input), (usage.cacheRead, prices.cacheRead),
      (usage.cacheWrite5m, prices.cacheWrite5m), (usage.output, prices.output),
    ] {
      guard let amount = PicoDollars.product(tokens, price) else { return nil }
      amounts.append(amount)
    }
    if usage.cacheWrite1h != 0 {
      guard let price = prices.cacheWrite1h, let amount = PicoDollars.product(usage.cacheWrite1h, price)
      else { return nil }
      amounts.append(amount)
    }
    for (tool, uses) in usage.toolUses where uses != 0 {
      guard let price = toolPrices[tool], let amount = PicoDollars.product(uses, price) else { return nil }
      amounts.append(amount)
    }
    if usage.microUnits != 0 {
      guard let unit, let amount = unit.cost(microUnits: usage.microUnits) else { return nil }
      amounts.append(amount)
    }
    return PicoDollars.sum(amounts)
  }

  /// The most that so many tokens can cost, in pico-dollars; nil when it does not fit.
  ///
  /// - Parameters:
  ///   - input: the bound of the input.
  ///   - output: the bound of the output.
  ///   - cache: which cache writes the request can cause; each input token counts at the dearest class.
  package func reserve(input: Int64, output: Int64, cache: CacheUse) -> Int64? {
    var tiers = [prices]
    if let longContext, input > longContext.above { tiers.append(longContext.prices) }
    var worst: Int64 = 0
    for tier in tiers {
      var price = max(tier.input, tier.cacheRead)
      if cache >= .fiveMinutes { price = max(price, tier.cacheWrite5m) }
      if cache >= .hour {
        guard let long = tier.cacheWrite1h else { return nil }
        price = max(price, long)
      }
      guard let inputCost = PicoDollars.product(input, price),
        let outputCost = PicoDollars.product(output, tier.output),
        let sum = PicoDollars.sum([inputCost, outputCost])
      else { return nil }
      worst = max(worst, sum)
    }
    return worst
  }
}

/// How long what a request writes to the provider's prompt cache is to live there.
package enum CacheUse: Int, Sendable, Comparable {
  case none, fiveMinutes, hour

  package static func < (left: CacheUse, right: CacheUse) -> Bool { left.rawValue < right.rawValue }
}
