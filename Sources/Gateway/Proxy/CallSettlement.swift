/// How a call ends in the ledger, by RULES §5.2 and §5.4.
package struct CallSettlement: Sendable, Equatable {
  /// What becomes of the held money and of the day count.
  package enum Outcome: Sendable, Equatable {
    /// The held money becomes this many pico-dollars, whatever was held.
    case used(cost: Int64)
    /// The held money is released; the day count too, where `giveBackCount`.
    case released(giveBackCount: Bool)
  }

  package var outcome: Outcome
  /// The tokens that the cost is of.
  package var usage: TokenUsage
  /// The images that the cost is of.
  package var images: Int64
  /// Whether the cost is an estimate and not the provider's final figures.
  package var estimated: Bool

  package init(
    outcome: Outcome, usage: TokenUsage = TokenUsage(), images: Int64 = 0,
    estimated: Bool = false
  ) {
    self.outcome = outcome
    self.usage = usage
    self.images = images
    self.estimated = estimated
  }

  /// The cost in pico-dollars; 0 where the money is released.
  package var cost: Int64 { if case .used(let cost) = outcome { cost } else { 0 } }

  /// What the provider bills by where that is not tokens, in millionths; 0 where nothing is booked.
  package var units: Int64 { if case .used = outcome { usage.microUnits } else { 0 } }

  /// What every line of the reservation becomes; nothing where the money is released.
  package var amounts: CallAmounts {
    guard case .used(let cost) = outcome else { return CallAmounts() }
    return CallAmounts(cost: cost, tokens: usage.allTokens, images: images)
  }
}

extension PreparedCall {
  /// The settlement at the full reserve: for answers of which nothing is known.
  package var atReserve: CallSettlement {
    guard price != nil else { return CallSettlement(outcome: .used(cost: 0)) }
    return CallSettlement(
      outcome: .used(cost: reserve),
      usage: TokenUsage(input: inputBound, output: outputBound, microUnits: microUnitBound),
      images: imageBound, estimated: true)
  }

  /// The settlement of an answer that is no success: released where the provider bills nothing for it, at the units
  /// that it told, else at the full reserve.
  package func settlement(of failure: UpstreamFailure) -> CallSettlement {
    if failure.unbilled { return CallSettlement(outcome: .released(giveBackCount: failure.givesBackCount)) }
    guard let units = failure.microUnits, let cost = price?.unit?.cost(microUnits: units) else {
      return atReserve
    }
    return CallSettlement(
      outcome: .used(cost: cost), usage: TokenUsage(microUnits: units), images: units > 0 ? imageBound : 0)
  }

  /// The settlement of an answer with a 2xx head, ended or broken off, by what the meter has read.
  ///
  /// Final usage is booked as it is, also above the reserve. Without it, input counts as the provider's first
  /// event said, and where that says nothing at the bound; output as one token an octet of what was seen, if all
  /// of the answer can be seen, else at the full bound; and before an answer has begun everything counts at the
  /// reserve.
  package func settlement(of reading: MeterReading, streamed: Bool) -> CallSettlement {
    guard let price else { return CallSettlement(outcome: .used(cost: 0)) }
    var usage = reading.usage
    switch reading.completeness {
    case .nothing: return atReserve
    case .begun: return atInputBound(reading, price, streamed: streamed)
    case .final: break
    case .input:
      // What a tool of the provider's has done meanwhile is not known.
      if !toolPrices.isEmpty { return atReserve }
      let seen = max(usage.output, min(reading.visibleOctets, outputBound))
      usage.output = streamed && visibleOnly && reading.visibleOnly ? seen : max(usage.output, outputBound)
    }
    guard let cost = price.cost(of: usage, toolPrices: toolPrices) else {
      // Figures that have no price or do not fit: nothing better is known than the reserve.
      return atReserve
    }
    return CallSettlement(
      outcome: .used(cost: cost), usage: usage, images: reading.images ?? imageBound,
      estimated: reading.completeness != .final)
  }

  /// The settlement of a visible answer of which not even the input is known.
  private func atInputBound(_ reading: MeterReading, _ price: PriceRow, streamed: Bool) -> CallSettlement {
    let seen = min(max(reading.usage.output, reading.visibleOctets), outputBound)
    guard streamed, visibleOnly, reading.visibleOnly, toolPrices.isEmpty,
      let cost = price.reserve(input: inputBound, output: seen, cache: cache)
    else { return atReserve }
    return CallSettlement(
      outcome: .used(cost: min(cost, reserve)), usage: TokenUsage(input: inputBound, output: seen),
      estimated: true)
  }
}
