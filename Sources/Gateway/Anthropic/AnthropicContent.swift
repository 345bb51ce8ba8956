import Encodings

/// Walks the content of a Messages request: refuses what it does not know, and measures the rest.
///
/// The measure is RULES §5.3: every octet of the body counts as a token, except the Base64 of images, which
/// count by their number.
struct AnthropicContent {
  let policy: AnthropicPolicy
  private(set) var images: Int64 = 0
  private(set) var imageOctets = 0
  /// Whether something stands in the input whose size cannot be seen.
  private(set) var unbounded = false
  private(set) var cache = CacheUse.none

  init(policy: AnthropicPolicy) { self.policy = policy }

  /// `system` and the content of messages and tool results: a text, or blocks of the types in `allowed`.
  mutating func content(
    _ node: JSONNode, at place: String, allowed: Set<String>
  ) throws(ProviderRefusal) {
    if node.string != nil { return }
    guard let blocks = node.elements else {
      throw .invalid(place, "must be a string or an array of content blocks")
    }
    for (index, block) in blocks.enumerated() {
      try self.block(block, at: "\(place)[\(index)]", allowed: allowed)
    }
  }

  static let inSystem: Set<String> = ["text"]
  static let inMessages: Set<String> = [
    "text", "image", "document", "search_result", "tool_use", "tool_result", "thinking", "redacted_thinking",
    "server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
  ]
  private static let inToolResults: Set<String> = ["text", "image", "document", "search_result"]
  private static let inDocuments: Set<String> = ["text", "image"]

  private mutating func block(
    _ block: JSONNode, at place: String, allowed: Set<String>
  ) throws(ProviderRefusal) {
    guard let type = block["type"]?.string else { throw .invalid(place + ".type", "must be a string") }
    guard allowed.contains(type) else { throw .blockNotAllowed(place + ".type") }
    switch type {
    case "text":
      try block.only(["type", "text", "citations", "cache_control"], at: place)
      try textMember("text", of: block, at: place)
    case "image":
      try block.only(["type", "source", "transformations", "cache_control"], at: place)
      if let changes = block["transformations"], !changes.isNull {
        try changes.only(["oversized_image"], at: place + ".transformations")
      }
      try image(block["source"], at: place + ".source")
    case "document":
      try block.only(["type", "source", "title", "context", "citations", "cache_control"], at: place)
      try document(block["source"], at: place + ".source")
    case "search_result":
      try block.only(["type", "source", "title", "content", "citations", "cache_control"], at: place)
      try textMember("source", of: block, at: place)
      if let content = block["content"] {
        try self.content(content, at: place + ".content", allowed: Self.inSystem)
      }
    case "tool_use":
      try block.only(["type", "id", "name", "input", "caller", "cache_control"], at: place)
    case "tool_result":
      try block.only(["type", "tool_use_id", "content", "is_error", "cache_control"], at: place)
      if let content = block["content"] {
        try self.content(content, at: place + ".content", allowed: Self.inToolResults)
      }
    case "thinking":
      try block.only(["type", "thinking", "signature", "cache_control"], at: place)
    case "redacted_thinking":
      try block.only(["type", "data", "cache_control"], at: place)
    default:
      // History of tools that Anthropic runs. Its results are encrypted, so their size is not their octets.
      guard !policy.serverTools.isEmpty else { throw .blockNotAllowed(place + ".type") }
      unbounded = true
    }
    try cacheControl(block["cache_control"], at: place + ".cache_control")
  }

  /// Notes and checks a `cache_control`, which may be null.
  mutating func cacheControl(_ node: JSONNode?, at place: String) throws(ProviderRefusal) {
    guard let node, !node.isNull else { return }
    try node.only(["type", "ttl"], at: place)
    guard node["type"]?.string == "ephemeral" else {
      throw .invalid(place + ".type", "must be \"ephemeral\"")
    }
    switch node["ttl"]?.string {
    case nil where node["ttl"] == nil, "5m": cache = max(cache, .fiveMinutes)
    case "1h":
      guard policy.allowsLongCache else {
        throw ProviderRefusal(
          "cache_ttl_not_allowed", place: place + ".ttl", "An hour of cache is not allowed here; use \"5m\".")
      }
      cache = .hour
    default: throw .invalid(place + ".ttl", "must be \"5m\" or \"1h\"")
    }
  }

  private func textMember(_ name: String, of block: JSONNode, at place: String) throws(ProviderRefusal) {
    guard block[name]?.string != nil else { throw .invalid("\(place).\(name)", "must be a string") }
  }

  private mutating func image(_ source: JSONNode?, at place: String) throws(ProviderRefusal) {
    let data = try base64(source, at: place)
    images += 1
    imageOctets += data.range.count
    if images > policy.maximumImages {
      throw ProviderRefusal(
        "too_many_images", place: place, "At most \(policy.maximumImages) images are allowed in a request.")
    }
  }

  private mutating func document(_ source: JSONNode?, at place: String) throws(ProviderRefusal) {
    guard policy.allowsDocuments else {
      throw ProviderRefusal(
        "documents_not_allowed", place: place, "Documents are not allowed here; send their text instead.")
    }
    switch source?["type"]?.string {
    case "text":
      try source?.only(["type", "media_type", "data"], at: place)
      guard source?["data"]?.string != nil else { throw .invalid(place + ".data", "must be a string") }
    case "content":
      try source?.only(["type", "content"], at: place)
      guard let content = source?["content"] else { throw .invalid(place + ".content", "is missing") }
      try self.content(content, at: place + ".content", allowed: Self.inDocuments)
    default:
      _ = try base64(source, at: place)
      unbounded = true
    }
  }

  /// The data of an inline source; sources that the gateway cannot see into are refused.
  private func base64(_ source: JSONNode?, at place: String) throws(ProviderRefusal) -> JSONNode {
    guard let source, let type = source["type"]?.string else {
      throw .invalid(place + ".type", "must be a string")
    }
    guard type == "base64" else {
      throw ProviderRefusal(
        "source_not_allowed", place: place + ".type",
        "Only inline data is allowed, since the size of anything else cannot be seen; use \"base64\".")
    }
    try source.only(["type", "media_type", "data"], at: place)
    guard let data = source["data"], data.string != nil else {
      throw .invalid(place + ".data", "must be a string")
    }
    return data
  }
}
