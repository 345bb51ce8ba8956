import Encodings

/// A Messages request body under a policy: its bounds, and the changes that the policy makes.
struct AnthropicBody: CountedBody {
  enum Kind { case messages, countTokens }

  let policy: AnthropicPolicy
  let kind: Kind
  let root: JSONNode
  private(set) var splice = JSONSplice()
  private(set) var content: AnthropicContent
  private(set) var model = ""
  private(set) var messageCount: Int64 = 0
  private(set) var toolCount: Int64 = 0
  /// What makes the provider add a prompt of its own: tools at all, each tool whose shape is the provider's,
  /// an output format.
  private(set) var promptCount: Int64 = 0
  private(set) var serverToolUses: Int64 = 0
  /// Pico-dollars a use, by the name under which uses are reported.
  private(set) var toolPrices: [String: Int64] = [:]
  /// The most that the tools which Anthropic runs can cost, in pico-dollars.
  private(set) var toolReserve: Int64 = 0
  private(set) var thinks = false
  private(set) var streamed = false
  private(set) var maximumOutput: Int64 = 0

  var imageCount: Int64 { content.images }
  var imageOctets: Int { content.imageOctets }

  private static let fields: Set<String> = [
    "model", "messages", "max_tokens", "system", "metadata", "stop_sequences", "stream", "temperature",
    "top_p",
    "top_k", "tools", "tool_choice", "thinking", "cache_control", "output_config", "service_tier", "speed",
    "inference_geo",
  ]
  private static let countFields: Set<String> = [
    "model", "messages", "system", "tools", "tool_choice", "thinking", "cache_control", "output_config",
    "speed",
  ]

  init(policy: AnthropicPolicy, kind: Kind, root: JSONNode) throws(ProviderRefusal) {
    self.policy = policy
    self.kind = kind
    self.root = root
    content = AnthropicContent(policy: policy)
    guard root.members != nil else { throw .invalid("body", "must be an object") }
    try root.only(kind == .messages ? Self.fields : Self.countFields, at: "")
    model = try root.model(among: policy.models, &splice)
    try readMessages()
    if let system = root["system"], !system.isNull {
      try content.content(system, at: "system", allowed: AnthropicContent.inSystem)
    }
    try content.cacheControl(root["cache_control"], at: "cache_control")
    try readTools()
    try readOutputConfig()
    try forceStandard()
    if let stream = root["stream"] {
      guard let value = stream.bool else { throw .invalid("stream", "must be true or false") }
      streamed = value
    }
  }

  /// Clamps `max_tokens` to the least of policy and model, and judges `thinking`, which is paid inside it.
  mutating func limitOutput(modelMaximum: Int64) throws(ProviderRefusal) {
    guard kind == .messages else { return try readThinking() }
    let limit = max(0, min(policy.maximumOutput, modelMaximum))
    if let node = root["max_tokens"] {
      guard case .number(let spelled) = node.content, let asked = node.integer, asked >= 0,
        spelled == String(asked)
      else { throw .invalid("max_tokens", "must be a whole number from 0 to \(limit)") }
      maximumOutput = min(asked, limit)
      if asked > limit { splice.replace(node, with: .integer(limit)) }
    } else {
      maximumOutput = limit
      splice.insert("max_tokens", .integer(limit), into: root)
    }
    try readThinking()
  }

  /// Tells the provider the pseudonym and nothing else of whoever asks.
  mutating func setPseudonym(_ pseudonym: String?) {
    guard kind == .messages else { return }
    let value: JSONValue = pseudonym.map { ["user_id": .string($0)] } ?? [:]
    if let metadata = root["metadata"] {
      if metadata.value != value { splice.replace(metadata, with: value) }
    } else if pseudonym != nil {
      splice.insert("metadata", value, into: root)
    }
  }

  private mutating func readMessages() throws(ProviderRefusal) {
    let messages = try root.messages(atMost: policy.maximumMessages)
    messageCount = Int64(messages.count)
    for (index, message) in messages.enumerated() {
      let place = "messages[\(index)]"
      try message.only(["role", "content"], at: place)
      guard let role = message["role"]?.string, ["user", "assistant", "system"].contains(role) else {
        throw .invalid(place + ".role", "must be \"user\", \"assistant\" or \"system\"")
      }
      guard let content = message["content"] else { throw .invalid(place + ".content", "is missing") }
      try self.content.content(
        content, at: place + ".content",
        allowed: role == "system" ? AnthropicContent.inSystem : AnthropicContent.inMessages)
    }
  }

  private mutating func readTools() throws(ProviderRefusal) {
    guard let node = root["tools"], !node.isNull else { return }
    guard let tools = node.elements else { throw .invalid("tools", "must be an array") }
    toolCount = Int64(tools.count)
    promptCount += tools.isEmpty ? 0 : 1
    for (index, tool) in tools.enumerated() {
      let place = "tools[\(index)]"
      guard tool.members != nil else { throw .invalid(place, "must be an object") }
      try content.cacheControl(tool["cache_control"], at: place + ".cache_control")
      let type: String
      switch tool["type"] {
      case nil: type = "custom"
      case let node? where node.isNull: type = "custom"
      case let node?:
        guard let text = node.string else { throw .invalid(place + ".type", "must be a string") }
        type = text
      }
      if type != "custom" { promptCount += 1 }
      if policy.clientTools.contains(type) {
        if type == "custom" {
          try tool.only(
            [
              "type", "name", "description", "input_schema", "cache_control", "strict", "input_examples",
              "eager_input_streaming",
            ], at: place)
        }
      } else if let served = policy.serverTools[type] {
        try readServerTool(tool, served, at: place)
      } else {
        throw ProviderRefusal(
          "tool_not_allowed", place: place + ".type",
          "Tools of this type are not allowed here; use a tool that the app runs itself (\"custom\").")
      }
    }
  }

  private mutating func readServerTool(
    _ tool: JSONNode, _ served: AnthropicPolicy.ServerTool, at place: String
  ) throws(ProviderRefusal) {
    try tool.only(
      [
        "type", "name", "max_uses", "allowed_domains", "blocked_domains", "user_location", "cache_control",
        "max_content_tokens", "citations",
      ], at: place)
    guard let uses = tool["max_uses"]?.integer, uses >= 1, uses <= served.maximumUses else {
      throw ProviderRefusal(
        "tool_uses_not_bounded", place: place + ".max_uses",
        "This tool needs max_uses, from 1 to \(served.maximumUses).")
    }
    guard let cost = PicoDollars.product(uses, served.price),
      let reserve = PicoDollars.sum([toolReserve, cost]),
      let total = PicoDollars.sum([serverToolUses, uses])
    else { throw .tooDear }
    toolReserve = reserve
    serverToolUses = total
    toolPrices[served.usageName] = max(served.price, toolPrices[served.usageName] ?? 0)
  }

  private mutating func readOutputConfig() throws(ProviderRefusal) {
    guard let config = root["output_config"], !config.isNull else { return }
    try config.only(["effort", "format"], at: "output_config")
    if let format = config["format"], !format.isNull { promptCount += 1 }
  }

  private mutating func readThinking() throws(ProviderRefusal) {
    guard let thinking = root["thinking"], !thinking.isNull else { return }
    try thinking.only(["type", "budget_tokens", "display"], at: "thinking")
    switch thinking["type"]?.string {
    case "disabled": return
    case "enabled", "adaptive": break
    default: throw .invalid("thinking.type", "must be \"enabled\", \"adaptive\" or \"disabled\"")
    }
    guard policy.allowsThinking else {
      throw ProviderRefusal(
        "thinking_not_allowed", place: "thinking", "Thinking is not allowed here; leave it out.")
    }
    thinks = true
    guard let budget = thinking["budget_tokens"], !budget.isNull else { return }
    guard let tokens = budget.integer, tokens >= 0 else {
      throw .invalid("thinking.budget_tokens", "must be a whole number")
    }
    guard kind == .countTokens || tokens < maximumOutput else {
      throw ProviderRefusal(
        "thinking_budget_too_large", place: "thinking.budget_tokens",
        "Thinking is paid inside max_tokens, which is \(maximumOutput) here; ask for less.")
    }
  }

  /// Dearer ways of serving are refused; a choice that could become one is made the standard one.
  private mutating func forceStandard() throws(ProviderRefusal) {
    if let tier = root["service_tier"], !tier.isNull {
      switch tier.string {
      case "standard_only": break
      case "auto": splice.replace(tier, with: "standard_only")
      default: throw .invalid("service_tier", "must be \"standard_only\"")
      }
    }
    if let speed = root["speed"], !speed.isNull, speed.string != "standard" {
      throw ProviderRefusal(
        "speed_not_allowed", place: "speed", "Only \"standard\" is allowed here; leave it out.")
    }
    if let geo = root["inference_geo"], !geo.isNull, geo.string != "global" {
      throw ProviderRefusal(
        "inference_geo_not_allowed", place: "inference_geo", "Only \"global\" is allowed here; leave it out.")
    }
  }
}
