/// What was used in one day of 24 hours, by provider and model.
package struct UsageTotal: Sendable, Equatable {
  /// When the day starts, milliseconds since 1970.
  package var day: Int64
  package var provider: String
  package var model: String
  package var requests: Int64
  package var inputTokens: Int64
  package var cacheReadTokens: Int64
  package var cacheWriteTokens: Int64
  package var outputTokens: Int64
  /// Pico-dollars.
  package var cost: Int64

  package init(
    day: Int64, provider: String, model: String, requests: Int64, inputTokens: Int64, cacheReadTokens: Int64,
    cacheWriteTokens: Int64, outputTokens: Int64, cost: Int64
  ) {
    self.day = day
    self.provider = provider
    self.model = model
    self.requests = requests
    self.inputTokens = inputTokens
    self.cacheReadTokens = cacheReadTokens
    self.cacheWriteTokens = cacheWriteTokens
    self.outputTokens = outputTokens
    self.cost = cost
  }
}

/// What the ledger knows of past requests. Times are milliseconds since 1970, `to` is not part of the range.
package protocol UsageReport: Sendable {
  /// The latest requests that began in the range, latest first.
  func usage(from: Int64, to: Int64, limit: Int) async throws -> [UsageRecord]
  /// Sums by day, the first beginning at `from`, and by provider and model.
  func usageTotals(from: Int64, to: Int64) async throws -> [UsageTotal]
}
