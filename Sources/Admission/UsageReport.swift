package import Gateway

/// What usage is told apart by, beside time.
package enum UsageColumn: String, Sendable, CaseIterable {
  case user
  case key
  case function
  case provider
  case model
}

/// What was used in a window by calls that are alike in some columns.
package struct UsageSum: Sendable, Equatable {
  package var window: Window
  /// In the order of the columns that were asked for; empty where a call has none. Keys are in base64.
  package var values: [String]
  package var requests: Int64
  package var inputTokens: Int64
  package var cacheReadTokens: Int64
  package var cacheWriteTokens: Int64
  package var outputTokens: Int64
  package var images: Int64
  /// In millionths.
  package var units: Int64
  /// Pico-dollars.
  package var cost: Int64

  package init(
    window: Window, values: [String], requests: Int64, inputTokens: Int64 = 0, cacheReadTokens: Int64 = 0,
    cacheWriteTokens: Int64 = 0, outputTokens: Int64 = 0, images: Int64 = 0, units: Int64 = 0, cost: Int64
  ) {
    self.window = window
    self.values = values
    self.requests = requests
    self.inputTokens = inputTokens
    self.cacheReadTokens = cacheReadTokens
    self.cacheWriteTokens = cacheWriteTokens
    self.outputTokens = outputTokens
    self.images = images
    self.units = units
    self.cost = cost
  }
}

/// What the ledger knows of past requests. Times are milliseconds since 1970, `to` is not part of the range.
package protocol UsageReport: Sendable {
  /// The latest requests that began in the range, latest first.
  func usage(from: Int64, to: Int64, limit: Int) async throws -> [UsageRecord]
  /// Sums by window and by the columns' values, in their order. All of one moment.
  func usageSums(in windows: [Window], by columns: [UsageColumn]) async throws -> [UsageSum]
}
