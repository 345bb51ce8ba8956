import Encodings

/// The `usage` object of Anthropic's answers, merged over the events of a stream.
///
/// Figures are cumulative: a later one replaces an earlier one when it is higher, and is never added. A figure
/// that is no whole number, negative or absurdly high makes the whole unreadable, so that the settlement falls
/// back on the reserve.
struct AnthropicUsage: Sendable, Equatable {
  /// Above this a figure is not believed.
  private static let ceiling: Int64 = 1_000_000_000

  private(set) var figures: [String: Int64] = [:]
  private(set) var toolUses: [String: Int64] = [:]
  /// A figure could not be believed.
  private(set) var unreadable = false

  mutating func merge(_ usage: JSONNode?) {
    guard let usage, !usage.isNull else { return }
    guard let members = usage.members else { return unreadable = true }
    for member in members {
      switch member.name {
      case "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens":
        raise(member.name, member.value)
      case "cache_creation":
        for part in member.value.members ?? [] where part.name.hasPrefix("ephemeral_") {
          raise(part.name, part.value)
        }
      case "server_tool_use":
        for part in member.value.members ?? [] {
          if let count = figure(part.value) { toolUses[part.name] = max(toolUses[part.name] ?? 0, count) }
        }
      default: break  // names and figures that inform only
      }
    }
  }

  private mutating func raise(_ name: String, _ node: JSONNode) {
    if let count = figure(node) { figures[name] = max(figures[name] ?? 0, count) }
  }

  private mutating func figure(_ node: JSONNode) -> Int64? {
    if node.isNull { return nil }
    guard let count = node.integer, count >= 0, count <= Self.ceiling else {
      unreadable = true
      return nil
    }
    return count
  }

  var hasInput: Bool { !unreadable && figures["input_tokens"] != nil }
  var hasOutput: Bool { !unreadable && figures["output_tokens"] != nil }

  /// The tokens by class. Cache writes whose life is not told count for an hour where the request asked for
  /// that, else for five minutes.
  func tokens(unsplitWritesAreLong: Bool) -> TokenUsage {
    let writes = figures["cache_creation_input_tokens"] ?? 0
    var short = figures["ephemeral_5m_input_tokens"] ?? 0
    var long = figures["ephemeral_1h_input_tokens"] ?? 0
    let unsplit = max(0, writes - short - long)
    if unsplitWritesAreLong { long += unsplit } else { short += unsplit }
    return TokenUsage(
      input: figures["input_tokens"] ?? 0, cacheRead: figures["cache_read_input_tokens"] ?? 0,
      cacheWrite5m: short, cacheWrite1h: long, output: figures["output_tokens"] ?? 0, toolUses: toolUses)
  }
}
