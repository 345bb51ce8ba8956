import Encodings

/// A Chat Completions request body under a policy: its bounds, and the changes that the policy makes.
struct OpenAIBody: CountedBody {
  let policy: OpenAIPolicy
  let root: JSONNode
  private(set) var splice = JSONSplice()
  private(set) var content: OpenAIContent
  private(set) var model = ""
  private(set) var messageCount: Int64 = 0
  private(set) var toolCount: Int64 = 0
  /// What makes the provider add a prompt of its own: tools at all, an output format.
  private(set) var promptCount: Int64 = 0
  private(set) var streamed = false
  /// Whether the app did not ask for the usage that the gateway needs.
  private(set) var hidesUsage = false
  /// Whether the app asks not to have the model reason.
  private(set) var reasonsNot = false
  private(set) var choices: Int64 = 1
  /// Of all choices together.
  private(set) var maximumOutput: Int64 = 0

  var imageCount: Int64 { content.images }
  var imageOctets: Int { content.imageOctets }

  /// Fields that move no price, or whose price is bounded here. Not among them, and so refused: `audio`,
  /// `moderation`, `prediction` (what it foretells wrongly is billed), `web_search_options`, `metadata` (which goes
  /// with `store`), `prompt_cache_retention`, and the old `functions` and `function_call`.
  private static let fields: Set<String> = [
    "model", "messages", "max_tokens", "max_completion_tokens", "n", "stream", "stream_options",
    "temperature",
    "top_p", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "seed",
    "stop",
    "response_format", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "verbosity",
    "modalities", "service_tier", "store", "user", "safety_identifier", "prompt_cache_key",
    "prompt_cache_options",
  ]

  init(policy: OpenAIPolicy, root: JSONNode) throws(ProviderRefusal) {
    self.policy = policy
    self.root = root
    content = OpenAIContent(policy: policy)
    guard root.members != nil else { throw .invalid("body", "must be an object") }
    try root.only(Self.fields, at: "")
    model = try root.model(among: policy.models, &splice)
    try readMessages()
    try readTools()
    try readChoices()
    try readStream()
    try forceStandard()
    if let format = present("response_format"), format["type"]?.string != "text" { promptCount += 1 }
    if let effort = present("reasoning_effort") {
      guard let text = effort.string else { throw .invalid("reasoning_effort", "must be a string") }
      reasonsNot = text == "none"
    }
  }

  /// Clamps both names of the output limit to the least of policy and model; reasoning is paid inside it.
  mutating func limitOutput(modelMaximum: Int64) throws(ProviderRefusal) {
    let limit = max(1, min(policy.maximumOutput, modelMaximum))
    var most: Int64?
    for name in ["max_completion_tokens", "max_tokens"] {
      guard let node = present(name) else { continue }
      guard case .number(let spelled) = node.content, let asked = node.integer, asked >= 1,
        spelled == String(asked)
      else { throw .invalid(name, "must be a whole number from 1 to \(limit)") }
      most = max(most ?? 0, min(asked, limit))
      if asked > limit { splice.replace(node, with: .integer(limit)) }
    }
    if most == nil { set("max_completion_tokens", .integer(limit)) }
    guard let sum = PicoDollars.product(most ?? limit, choices) else { throw .tooDear }
    maximumOutput = sum
  }

  /// Tells the provider the pseudonym and nothing else of whoever asks.
  mutating func setPseudonym(_ pseudonym: String?) {
    let value: JSONValue = pseudonym.map { .string($0) } ?? nil
    if pseudonym != nil || present("safety_identifier") != nil { set("safety_identifier", value) }
    if present("user") != nil { set("user", value) }
  }

  private mutating func readMessages() throws(ProviderRefusal) {
    let messages = try root.messages(atMost: policy.maximumMessages)
    messageCount = Int64(messages.count)
    for (index, message) in messages.enumerated() { try content.message(message, at: "messages[\(index)]") }
  }

  private mutating func readTools() throws(ProviderRefusal) {
    guard let node = present("tools") else { return }
    guard let tools = node.elements else { throw .invalid("tools", "must be an array") }
    toolCount = Int64(tools.count)
    promptCount += tools.isEmpty ? 0 : 1
    for (index, tool) in tools.enumerated() {
      let place = "tools[\(index)]"
      guard let type = tool["type"]?.string else { throw .invalid(place + ".type", "must be a string") }
      guard policy.tools.contains(type), ["function", "custom"].contains(type) else {
        throw ProviderRefusal(
          "tool_not_allowed", place: place + ".type",
          "Tools of this type are not allowed here; use a tool that the app runs itself (\"function\").")
      }
      try tool.only(["type", type], at: place)
      try tool[type]?.only(["name", "description", "parameters", "strict", "format"], at: "\(place).\(type)")
    }
  }

  private mutating func readChoices() throws(ProviderRefusal) {
    guard let node = present("n") else { return }
    guard let count = node.integer, count >= 1 else { throw .invalid("n", "must be a whole number") }
    guard count <= policy.maximumChoices else {
      throw ProviderRefusal(
        "choices_not_allowed", place: "n",
        "At most \(policy.maximumChoices) answers are allowed; each is paid for.")
    }
    choices = count
  }

  /// Without `include_usage` a stream says nothing of its usage, so that is always asked for.
  private mutating func readStream() throws(ProviderRefusal) {
    if let stream = present("stream") {
      guard let value = stream.bool else { throw .invalid("stream", "must be true or false") }
      streamed = value
    }
    let options = present("stream_options")
    try options?.only(["include_usage", "include_obfuscation"], at: "stream_options")
    guard streamed else { return }
    guard let options, options.members?.isEmpty == false else {
      hidesUsage = true
      return set("stream_options", ["include_usage": true])
    }
    guard let asked = options["include_usage"] else {
      hidesUsage = true
      return splice.insert("include_usage", true, into: options)
    }
    guard asked.bool != true else { return }
    guard asked.isNull || asked.bool == false else {
      throw .invalid("stream_options.include_usage", "must be true or false")
    }
    hidesUsage = true
    splice.replace(asked, with: true)
  }

  /// Dearer ways of serving are refused. A choice that a setting of the operator's project could make dearer is
  /// made the standard one, and nothing is kept at the provider.
  private mutating func forceStandard() throws(ProviderRefusal) {
    switch present("service_tier")?.string {
    case "default": break
    case nil where present("service_tier") == nil, "auto": set("service_tier", "default")
    default:
      throw ProviderRefusal(
        "service_tier_not_allowed", place: "service_tier", "Only \"default\" is allowed here; leave it out.")
    }
    if present("store")?.bool != false {
      guard present("store") == nil else {
        throw ProviderRefusal("store_not_allowed", place: "store", "Nothing is stored here; leave it out.")
      }
      set("store", false)
    }
    if let modalities = present("modalities"), modalities.value != ["text"] {
      throw ProviderRefusal(
        "modality_not_allowed", place: "modalities", "Only [\"text\"] is allowed here; leave it out.")
    }
    if let options = present("prompt_cache_options") {
      try options.only(["mode", "ttl"], at: "prompt_cache_options")
      try OpenAIContent.cacheLife(options["ttl"], at: "prompt_cache_options.ttl")
    }
  }

  /// A member that says something: null is as if it were not there.
  private func present(_ name: String) -> JSONNode? { root[name].flatMap { $0.isNull ? nil : $0 } }

  private mutating func set(_ name: String, _ value: JSONValue) {
    if let node = root[name] {
      if node.value != value { splice.replace(node, with: value) }
    } else {
      splice.insert(name, value, into: root)
    }
  }
}
