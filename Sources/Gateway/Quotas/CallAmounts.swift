/// What a call comes to, or can come to at most, in every unit that quotas and budgets count.
package struct CallAmounts: Sendable, Equatable {
  /// Pico-dollars.
  package var cost: Int64
  /// Tokens of all classes, input and output.
  package var tokens: Int64
  package var images: Int64

  package init(cost: Int64 = 0, tokens: Int64 = 0, images: Int64 = 0) {
    self.cost = cost
    self.tokens = tokens
    self.images = images
  }

  /// The most that any of these can come to, unit by unit.
  package static func most(_ all: [CallAmounts]) -> CallAmounts {
    all.reduce(CallAmounts()) {
      CallAmounts(
        cost: max($0.cost, $1.cost), tokens: max($0.tokens, $1.tokens), images: max($0.images, $1.images))
    }
  }

  /// How much a rule of that unit counts; a request is one request.
  package func amount(_ unit: QuotaUnit) -> Int64 {
    switch unit {
    case .requests: 1
    case .tokens: tokens
    case .images: images
    case .money: cost
    }
  }
}

extension TokenUsage {
  /// Tokens of all classes; as many as there can be where the sum does not fit.
  package var allTokens: Int64 {
    PicoDollars.sum([input, cacheRead, cacheWrite5m, cacheWrite1h, output]) ?? .max
  }
}

extension PreparedCall {
  /// The most that the call can come to: what is held for it.
  package var bound: CallAmounts {
    CallAmounts(
      cost: reserve, tokens: PicoDollars.sum([inputBound, outputBound]) ?? .max, images: imageBound)
  }
}
