import Gateway
import Testing

@Suite("Prices in pico-dollars")
struct PriceTests {
  @Test("Decimal dollars are read exactly, prices of tokens rounded up, and nothing wrongly")
  func parse() {
    #expect(PicoDollars.dollars("1") == 1_000_000_000_000)
    #expect(PicoDollars.dollars("0.000000000001") == 1)
    #expect(PicoDollars.dollars("0.0000000000010000") == 1)
    #expect(PicoDollars.dollars("0.10") == 100_000_000_000)
    #expect(PicoDollars.dollars("9223372.036854775807") == .max)
    for bad in [
      "9223372.036854775808", "9223372.0368547758071", "9223373", "99999999999999999999", "", ".", "1.", ".5",
      "-1",
      "+1", "1e3", "1,5", "1.2.3", "0.+5", "0.-5", "0.0000000000001", "0.0000000000010001", " 1", "0x1", "١",
      "NaN", String(repeating: "0", count: 65),
    ] {
      #expect(PicoDollars.dollars(bad) == nil, "\(bad)")
    }
    #expect(PicoDollars.perMillionTokens("0.125") == 125_000)
    #expect(PicoDollars.perMillionTokens("0.0000001") == 1)
    #expect(PicoDollars.perMillionTokens("0.1250001") == 125_001)
  }

  private static func row(_ model: String, at now: Int64 = 1_800_000_000) throws -> PriceRow {
    try #require(PriceTable.shipped.row(provider: "anthropic", model: model, at: now))
  }

  @Test("The shipped rows are what their source says")
  func shipped() throws {
    #expect(
      try Self.row("claude-haiku-4-5").prices
        == TokenPrices(
          input: 1_000_000, output: 5_000_000, cacheRead: 100_000, cacheWrite5m: 1_250_000,
          cacheWrite1h: 2_000_000))
    #expect(try Self.row("claude-opus-5").prices.cacheWrite5m == 6_250_000)
    #expect(try Self.row("claude-sonnet-5-5").prices.cacheRead == 100_000)
    #expect(try Self.row("claude-sonnet-5").prices.cacheRead == 200_000)
    let rows = PriceTable.shipped.rows
    #expect(rows.filter { $0.provider == "anthropic" }.count == 6)
    #expect(
      rows.allSatisfy { row in
        let isPriced = row.unit.map { $0.price > 0 } ?? (row.prices.input > 0)
        return row.prices.isValid && isPriced && !row.source.isEmpty
      })
  }

  @Test("A dated name is its model; a longer or other one is not")
  func names() throws {
    #expect(try Self.row("claude-haiku-4-5-20251001").model == "claude-haiku-4-5")
    for name in [
      "claude-haiku-4-5-2025100", "claude-haiku-4-5-2025100x", "claude-haiku-4-5-", "claude-haiku-4",
      "claude-sonnet-5-5-5", "*", "",
    ] {
      #expect(PriceTable.shipped.row(provider: "anthropic", model: name, at: 0) == nil)
    }
    #expect(PriceTable.shipped.row(provider: "openai", model: "claude-haiku-4-5", at: 0) == nil)
  }

  @Test("Parts of a unit are paid for, rounded up; what does not fit or is negative has no cost")
  func units() {
    let second = UnitPrice(unit: "second", price: 130_000_000_000)
    #expect(second.cost(microUnits: 3_008_000) == 391_040_000_000)
    #expect(UnitPrice(unit: "image", price: 1).cost(microUnits: 1) == 1)
    #expect(UnitPrice(unit: "image", price: 1).cost(microUnits: 1_000_001) == 2)
    #expect(second.cost(microUnits: 0) == 0)
    #expect(second.cost(microUnits: -1) == nil)
    #expect(second.cost(microUnits: .max) == nil)
    #expect(UnitPrice(unit: "image", price: .max).cost(microUnits: .max) == nil)
    #expect(UnitPrice(unit: "image", price: .max).cost(microUnits: 1_000_000) == .max)
    #expect(UnitPrice(unit: "image", price: .max).cost(microUnits: 1_000_001) == nil)
    let row = PriceRow(provider: "fal", model: "fal-ai/flux/schnell", unit: second, source: "test")
    #expect(row.cost(of: TokenUsage(microUnits: 2_000_000)) == 260_000_000_000)
    #expect(row.cost(of: TokenUsage(input: 1_000_000, output: 5)) == 0)
  }

  @Test("A model without a unit's price has no cost for units")
  func unpricedUnits() throws {
    #expect(try Self.row("claude-haiku-4-5").cost(of: TokenUsage(input: 1, microUnits: 1)) == nil)
  }

  @Test("Above 100k of input of all classes the whole request is five times as dear")
  func longContext() throws {
    let row = try Self.row("claude-haiku-5-5")
    #expect(row.cost(of: TokenUsage(input: 100_000, output: 10)) == Int64(10_005_000_000))
    #expect(row.cost(of: TokenUsage(input: 1, cacheRead: 100_000)) == Int64(5_000_500_000))
    #expect(row.reserve(input: 100_001, output: 1, cache: .none) == Int64(50_003_000_000))
    #expect(row.reserve(input: 100_000, output: 1, cache: .none) == Int64(10_000_500_000))
  }

  @Test("The reserve is at least the cost of whatever stays inside its bounds")
  func reserveCovers() throws {
    var random = SplitMix(state: 3)
    for row in PriceTable.shipped.rows where row.unit == nil {
      for _ in 0..<200 {
        let bound = Int64(random.next() % 300_000)
        let output = Int64(random.next() % 10_000)
        let read = Int64(random.next() % UInt64(bound + 1))
        let write = Int64(random.next() % UInt64(bound - read + 1))
        let hasHour = row.prices.cacheWrite1h != nil
        let usage = TokenUsage(
          input: bound - read - write, cacheRead: read, cacheWrite5m: hasHour ? 0 : write,
          cacheWrite1h: hasHour ? write : 0, output: output)
        let cost = try #require(row.cost(of: usage))
        let reserve = try #require(
          row.reserve(input: bound, output: output, cache: hasHour ? .hour : .fiveMinutes))
        #expect(cost <= reserve)
      }
    }
  }

  @Test("What does not fit is refused, never wrapped")
  func overflow() throws {
    let row = try Self.row("claude-opus-5")
    #expect(row.cost(of: TokenUsage(input: .max, output: 1)) == nil)
    #expect(row.cost(of: TokenUsage(input: .max, cacheRead: 1)) == nil)
    #expect(row.cost(of: TokenUsage(input: -1)) == nil)
    #expect(row.cost(of: TokenUsage(cacheWrite1h: -1)) == nil)
    #expect(row.cost(of: TokenUsage(toolUses: ["web_search_requests": 1])) == nil)
    #expect(row.reserve(input: .max, output: 0, cache: .none) == nil)
    #expect(row.reserve(input: 1, output: .max, cache: .none) == nil)
    #expect(row.reserve(input: -1, output: 0, cache: .none) == nil)
    var unpriced = row
    unpriced.prices.cacheWrite1h = nil
    #expect(unpriced.reserve(input: 1, output: 1, cache: .hour) == nil)
    #expect(unpriced.cost(of: TokenUsage(cacheWrite1h: 1)) == nil)
    #expect(PicoDollars.sum([.max, 1]) == nil)
  }

  @Test("A request whose reserve does not fit is refused")
  func refusedReserve() throws {
    var row = try Self.row("claude-haiku-4-5")
    row.prices.input = .max / 2
    let provider = Anthropic(
      policy: AnthropicPolicy(models: [row.model: row.model]),
      prices: PriceTable.shipped.overridden(by: [row]))
    #expect(throws: ProviderRefusal.self) { try provider.prepare(Example.request(Example.body())) }
  }

  @Test("An operator's row stands before a shipped one, from its day on")
  func overrides() throws {
    var row = try Self.row("claude-haiku-4-5")
    row.effectiveFrom = 1_000
    row.prices.input = 7
    var later = row
    later.effectiveFrom = 2_000
    later.prices.input = 8
    let table = PriceTable.shipped.overridden(by: [later, row])
    func input(_ now: Int64) -> Int64? {
      table.row(provider: "anthropic", model: row.model, at: now)?.prices.input
    }
    #expect(input(999) == 1_000_000)
    #expect(input(1_000) == 7)
    #expect(input(1_999) == 7)
    #expect(input(2_000) == 8)
  }
}
