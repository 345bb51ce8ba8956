import Encodings

/// A request of the Messages API, checked as the real one checks it.
struct AnthropicMessageRequest {
  let model: String
  let stream: Bool
  let maxTokens: Int
  /// Turns of the conversation, the last included.
  let turns: Int
  /// The text of the last user message without instructions.
  let prompt: String
  /// What its instructions ask for.
  let simulation: Simulation
  let thinks: Bool
  let toolName: String?
  /// Whether the system text asks for JSON and nothing else.
  let wantsJSON: Bool
  /// All input tokens: four octets of text are one, as a rule of thumb.
  let inputTokens: Int

  private static let known: Set<String> = [
    "cache_control", "container", "context_management", "diagnostics", "inference_geo", "max_tokens",
    "mcp_servers", "messages", "metadata", "model", "output_config", "output_format", "service_tier", "speed",
    "stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
  ]

  /// Reads and checks; `counting` is for count_tokens, which takes no `max_tokens`.
  init(
    _ bytes: [UInt8], version: String, models: [SimulatedModel], counting: Bool
  ) throws(AnthropicFailure) {
    let body: JSONNode
    do { body = try JSONReader.read(bytes) } catch {
      throw .invalid("The request body is not valid JSON: \(error)")
    }
    guard let members = body.members else { throw .invalid("Input should be a valid dictionary") }
    for member in members where !Self.known.contains(member.name) {
      throw .invalid("\(member.name.prefix(80)): Extra inputs are not permitted")
    }
    if version >= "2026-10-21" {
      for name in ["temperature", "top_p", "top_k"] where body[name] != nil {
        throw .invalid("\(name): not supported by this version of the API")
      }
    }
    guard let model = body["model"]?.string else { throw .invalid("model: Field required") }
    guard let served = models.first(where: { $0.id == model }) else {
      throw .notFound("model: \(model.prefix(80))")
    }
    self.model = model
    stream = try Self.flag(body["stream"], "stream")
    maxTokens = counting ? 0 : try Self.maxTokens(body["max_tokens"], served)
    guard let messages = body["messages"]?.elements else { throw .invalid("messages: Field required") }
    if messages.isEmpty { throw .invalid("messages: at least one message is required") }
    var lastUser = ""
    var tokens = 3 + Self.tokens(system: body["system"])
    for (position, message) in messages.enumerated() {
      let text = try Self.text(of: message, at: position)
      if message["role"]?.string == "user" { lastUser = text }
      tokens += 3 + Self.tokens(content: message["content"])
    }
    for tool in body["tools"]?.elements ?? [] { tokens += 10 + (tool.range.count + 3) / 4 }
    turns = (messages.count + 1) / 2
    (simulation, prompt) = try Simulation.read(lastUser, by: .anthropic)
    let asked = body["thinking"]?["type"]?.string.map { $0 != "disabled" } ?? false
    thinks = simulation.thinking || asked
    let firstTool = body["tools"]?.elements?.first?["name"]?.string
    toolName = simulation.tool ? firstTool ?? "get_weather" : nil
    let system = body["system"]
    let told =
      [system?.string].compactMap(\.self) + (system?.elements ?? []).compactMap { $0["text"]?.string }
    wantsJSON = told.contains { $0.contains("one JSON value and nothing else") }
    inputTokens = simulation.usage?.input ?? tokens
  }

  private static func flag(_ node: JSONNode?, _ name: String) throws(AnthropicFailure) -> Bool {
    guard let node else { return false }
    guard let value = node.bool else { throw .invalid("\(name): Input should be a valid boolean") }
    return value
  }

  private static func maxTokens(_ node: JSONNode?, _ model: SimulatedModel) throws(AnthropicFailure) -> Int {
    guard let node else { throw .invalid("max_tokens: Field required") }
    guard let value = node.integer else { throw .invalid("max_tokens: Input should be a valid integer") }
    if value < 0 { throw .invalid("max_tokens: Input should be greater than or equal to 0") }
    if value > Int64(model.maximumOutput) {
      throw .invalid(
        "max_tokens: \(value) > \(model.maximumOutput), which is the maximum allowed number of output tokens "
          + "for \(model.id)")
    }
    return Int(value)
  }

  private static func text(of message: JSONNode, at position: Int) throws(AnthropicFailure) -> String {
    guard let role = message["role"]?.string, role == "user" || role == "assistant" else {
      throw .invalid("messages.\(position).role: Input should be 'user' or 'assistant'")
    }
    guard let content = message["content"] else {
      throw .invalid("messages.\(position).content: Field required")
    }
    if let text = content.string {
      if text.isEmpty { throw .invalid("messages.\(position): user messages must have non-empty content") }
      return text
    }
    guard let blocks = content.elements else {
      throw .invalid("messages.\(position).content: Input should be a valid string or list")
    }
    var texts: [String] = []
    for (index, block) in blocks.enumerated() {
      guard let type = block["type"]?.string else {
        throw .invalid("messages.\(position).content.\(index).type: Field required")
      }
      if type == "text", let text = block["text"]?.string { texts.append(text) }
      if type == "tool_result" { texts.append("the tool's result") }
    }
    return texts.joined(separator: "\n")
  }

  private static func tokens(system: JSONNode?) -> Int { tokens(content: system) }

  private static func tokens(content: JSONNode?) -> Int {
    guard let content else { return 0 }
    if let text = content.string { return (text.utf8.count + 3) / 4 }
    return (content.elements ?? []).reduce(0) { sum, block in
      switch block["type"]?.string {
      case "text": sum + ((block["text"]?.string?.utf8.count ?? 0) + 3) / 4
      case "image", "document": sum + 1_500
      default: sum + (block.range.count + 3) / 4
      }
    }
  }
}
