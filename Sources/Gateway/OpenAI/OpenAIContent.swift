import Encodings

/// Walks the messages of a Chat Completions request: refuses what it does not know, and measures the rest by
/// RULES §5.3: every octet of the body counts as a token, except inline images, which count by their number.
struct OpenAIContent {
  let policy: OpenAIPolicy
  private(set) var images: Int64 = 0
  private(set) var imageOctets = 0

  init(policy: OpenAIPolicy) { self.policy = policy }

  /// What a message may have beside its role. The answer's own message may be sent back as it came, with
  /// members that are null.
  private static let members: [String: Set<String>] = [
    "developer": ["content", "name"], "system": ["content", "name"], "user": ["content", "name"],
    "assistant": [
      "content", "name", "refusal", "tool_calls", "audio", "function_call", "annotations", "parsed",
    ],
    "tool": ["content", "tool_call_id"],
  ]

  mutating func message(_ message: JSONNode, at place: String) throws(ProviderRefusal) {
    guard message.members != nil else { throw .invalid(place, "must be an object") }
    guard let role = message["role"]?.string, let members = Self.members[role] else {
      throw .invalid(
        place + ".role", "must be \"developer\", \"system\", \"user\", \"assistant\" or \"tool\"")
    }
    try message.only(members.union(["role"]), at: place)
    for name in ["audio", "function_call", "parsed"] {
      guard let value = message[name], !value.isNull else { continue }
      throw .fieldNotAllowed("\(place).\(name)")
    }
    if let notes = message["annotations"], !notes.isNull, notes.elements?.isEmpty != true {
      throw .fieldNotAllowed(place + ".annotations")
    }
    for name in ["name", "refusal", "tool_call_id"] { try text(message[name], at: "\(place).\(name)") }
    try toolCalls(message["tool_calls"], at: place + ".tool_calls")
    guard let content = message["content"], !content.isNull else {
      if role == "assistant" { return }
      throw .invalid(place + ".content", "is missing")
    }
    try self.content(content, at: place + ".content", role: role)
  }

  private mutating func content(_ node: JSONNode, at place: String, role: String) throws(ProviderRefusal) {
    if node.string != nil { return }
    guard let parts = node.elements else {
      throw .invalid(place, "must be a string or an array of content parts")
    }
    for (index, part) in parts.enumerated() { try self.part(part, at: "\(place)[\(index)]", role: role) }
  }

  private mutating func part(_ part: JSONNode, at place: String, role: String) throws(ProviderRefusal) {
    guard let type = part["type"]?.string else { throw .invalid(place + ".type", "must be a string") }
    switch (type, role) {
    case ("text", _):
      try part.only(["type", "text", "prompt_cache_breakpoint"], at: place)
      guard part["text"]?.string != nil else { throw .invalid(place + ".text", "must be a string") }
    case ("refusal", "assistant"):
      try part.only(["type", "refusal"], at: place)
      guard part["refusal"]?.string != nil else { throw .invalid(place + ".refusal", "must be a string") }
    case ("image_url", "user"):
      try part.only(["type", "image_url", "prompt_cache_breakpoint"], at: place)
      try image(part["image_url"], at: place + ".image_url")
    default: throw .blockNotAllowed(place + ".type")
    }
    try cacheBreakpoint(part["prompt_cache_breakpoint"], at: place + ".prompt_cache_breakpoint")
  }

  /// An image in a data URL: what the provider would have to fetch has no size that can be seen.
  private mutating func image(_ node: JSONNode?, at place: String) throws(ProviderRefusal) {
    guard let node else { throw .invalid(place, "is missing") }
    try node.only(["url", "detail"], at: place)
    guard let url = node["url"], let text = url.string else {
      throw .invalid(place + ".url", "must be a string")
    }
    guard text.utf8.starts(with: "data:image/".utf8) else {
      throw ProviderRefusal(
        "source_not_allowed", place: place + ".url",
        "Only inline data is allowed, since the size of anything else cannot be seen; use \"data:image/…\".")
    }
    switch node["detail"]?.string {
    case nil where node["detail"].map(\.isNull) ?? true, "auto", "low", "high", "original": break
    default: throw .invalid(place + ".detail", "must be \"auto\", \"low\", \"high\" or \"original\"")
    }
    images += 1
    imageOctets += url.range.count
    if images > policy.maximumImages {
      throw ProviderRefusal(
        "too_many_images", place: place, "At most \(policy.maximumImages) images are allowed in a request.")
    }
  }

  /// How long a prefix is cached may have a price; only what OpenAI does by itself has one here.
  private func cacheBreakpoint(_ node: JSONNode?, at place: String) throws(ProviderRefusal) {
    guard let node, !node.isNull else { return }
    try node.only(["mode", "ttl"], at: place)
    guard node["mode"]?.string == "explicit" else { throw .invalid(place + ".mode", "must be \"explicit\"") }
    try Self.cacheLife(node["ttl"], at: place + ".ttl")
  }

  static func cacheLife(_ node: JSONNode?, at place: String) throws(ProviderRefusal) {
    guard let node, !node.isNull, node.string != "30m" else { return }
    throw ProviderRefusal(
      "cache_ttl_not_allowed", place: place, "Only \"30m\" is allowed here; leave it out.")
  }

  private func toolCalls(_ node: JSONNode?, at place: String) throws(ProviderRefusal) {
    guard let node, !node.isNull else { return }
    guard let calls = node.elements else { throw .invalid(place, "must be an array") }
    for (index, call) in calls.enumerated() {
      let place = "\(place)[\(index)]"
      guard let type = call["type"]?.string else { throw .invalid(place + ".type", "must be a string") }
      guard policy.tools.contains(type), ["function", "custom"].contains(type) else {
        throw .blockNotAllowed(place + ".type")
      }
      try call.only(["id", "type", type, "index"], at: place)
      try call[type]?.only(["name", "arguments", "input", "parsed_arguments"], at: "\(place).\(type)")
    }
  }

  private func text(_ node: JSONNode?, at place: String) throws(ProviderRefusal) {
    guard let node, !node.isNull, node.string == nil else { return }
    throw .invalid(place, "must be a string")
  }
}
