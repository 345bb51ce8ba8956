import Encodings

/// The `usage` object of Chat Completions, merged over the chunks of a stream.
///
/// OpenAI sends it once; others who speak its API send it with every chunk, growing. So a later figure replaces an
/// earlier one when it is higher, and is never added. A figure that is no whole number, negative or absurdly
/// high, or a part that is more than its whole, makes all of it unreadable, so that the settlement falls back on
/// the reserve.
struct OpenAIUsage: Sendable, Equatable {
  /// Above this a figure is not believed.
  private static let ceiling: Int64 = 1_000_000_000

  private var prompt: Int64?
  private var completion: Int64?
  /// Parts of `prompt`.
  private var cached: Int64 = 0
  private var written: Int64 = 0
  private var unreadable = false

  mutating func merge(_ usage: JSONNode?) {
    guard let usage, !usage.isNull else { return }
    guard usage.members != nil else { return unreadable = true }
    if let count = figure(usage["prompt_tokens"]) { prompt = max(prompt ?? 0, count) }
    // Reasoning tokens are within it.
    if let count = figure(usage["completion_tokens"]) { completion = max(completion ?? 0, count) }
    guard let details = usage["prompt_tokens_details"], !details.isNull else { return }
    guard details.members != nil else { return unreadable = true }
    cached = max(cached, figure(details["cached_tokens"]) ?? 0)
    written = max(written, figure(details["cache_write_tokens"]) ?? 0)
  }

  private mutating func figure(_ node: JSONNode?) -> Int64? {
    guard let node, !node.isNull else { return nil }
    guard let count = node.integer, count >= 0, count <= Self.ceiling else {
      unreadable = true
      return nil
    }
    return count
  }

  var isReadable: Bool { !unreadable && (prompt ?? 0) >= cached + written }
  /// Whether both figures are there that everything is counted by.
  var isWhole: Bool { isReadable && prompt != nil && completion != nil }

  /// The tokens by class; those of the cache are taken out of the prompt's.
  var tokens: TokenUsage {
    guard isReadable else { return TokenUsage() }
    return TokenUsage(
      input: (prompt ?? 0) - cached - written, cacheRead: cached, cacheWrite5m: written,
      output: completion ?? 0)
  }
}
