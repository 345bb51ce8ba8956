import Encodings

/// A request of Chat Completions, checked as the real API checks it.
struct ChatCompletionRequest {
  let model: String
  let stream: Bool
  let includesUsage: Bool
  let maxTokens: Int
  let choices: Int
  /// Turns of the conversation, the last included.
  let turns: Int
  /// The text of the last user message without instructions.
  let prompt: String
  /// What its instructions ask for.
  let simulation: Simulation
  let toolName: String?
  /// Whether it was told to answer with JSON alone, as functions tell it.
  let wantsJSON: Bool
  /// All input tokens: four octets of text are one, as a rule of thumb.
  let inputTokens: Int

  private static let known: Set<String> = [
    "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
    "max_completion_tokens", "max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n",
    "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed",
    "service_tier", "stop", "store", "stream", "stream_options", "temperature", "tool_choice", "tools",
    "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
  ]

  init(_ bytes: [UInt8], models: [SimulatedModel]) throws(OpenAIFailure) {
    guard let body = try? JSONReader.read(bytes), let members = body.members else {
      throw OpenAIFailure("We could not parse the JSON body of your request.")
    }
    for member in members where !Self.known.contains(member.name) {
      let name = String(member.name.prefix(80))
      throw OpenAIFailure("Unknown parameter: '\(name)'.", parameter: name, code: "unknown_parameter")
    }
    guard let model = body["model"]?.string else { throw .missing("model") }
    guard let served = models.first(where: { $0.id == model }) else {
      throw OpenAIFailure(
        status: 404, "The model `\(model.prefix(80))` does not exist or you do not have access to it.",
        code: "model_not_found")
    }
    self.model = model
    stream = try Self.flag(body, "stream") ?? false
    let options = body["stream_options"].flatMap { $0.isNull ? nil : $0 }
    if options != nil, !stream {
      throw OpenAIFailure(
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        parameter: "stream_options")
    }
    includesUsage =
      try options.flatMap { node throws(OpenAIFailure) in try Self.flag(node, "include_usage") } ?? false
    choices = try Self.number(body, "n", most: 128) ?? 1
    let old = try Self.number(body, "max_tokens", most: served.maximumOutput)
    let new = try Self.number(body, "max_completion_tokens", most: served.maximumOutput)
    if old != nil, new != nil {
      throw OpenAIFailure(
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        code: "invalid_parameter_combination")
    }
    if old != nil, !model.hasPrefix("gpt-4") {
      throw OpenAIFailure(
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
          + "Use 'max_completion_tokens' instead.", parameter: "max_tokens", code: "unsupported_parameter")
    }
    maxTokens = new ?? old ?? served.maximumOutput
    guard let messages = body["messages"]?.elements else { throw .missing("messages") }
    if messages.isEmpty {
      throw OpenAIFailure(
        "Invalid 'messages': empty array. Expected an array with minimum length 1.", parameter: "messages",
        code: "empty_array")
    }
    var lastUser = ""
    var told = ""
    var tokens = 3
    for (position, message) in messages.enumerated() {
      let text = try Self.text(of: message, at: position)
      switch message["role"]?.string {
      case "user": lastUser = text
      case "system", "developer": told += text
      default: break
      }
      tokens += 4 + (text.utf8.count + 3) / 4
    }
    for tool in body["tools"]?.elements ?? [] { tokens += 10 + (tool.range.count + 3) / 4 }
    turns =
      (messages.filter { $0["role"]?.string != "system" && $0["role"]?.string != "developer" }.count + 1) / 2
    do {
      (simulation, prompt) = try Simulation.read(lastUser, by: .openai)
    } catch {
      throw OpenAIFailure(error.message)
    }
    let firstTool = body["tools"]?.elements?.first?["function"]?["name"]?.string
    toolName = simulation.tool ? firstTool ?? "get_weather" : nil
    wantsJSON = told.contains("one JSON value and nothing else")
    inputTokens = simulation.usage?.input ?? tokens
  }

  private static func flag(_ body: JSONNode, _ name: String) throws(OpenAIFailure) -> Bool? {
    guard let node = body[name], !node.isNull else { return nil }
    guard let value = node.bool else { throw .type(name, "a boolean") }
    return value
  }

  private static func number(_ body: JSONNode, _ name: String, most: Int) throws(OpenAIFailure) -> Int? {
    guard let node = body[name], !node.isNull else { return nil }
    guard let value = node.integer else { throw .type(name, "an integer") }
    guard value >= 1, value <= Int64(most) else {
      throw OpenAIFailure(
        "Invalid '\(name)': expected a value from 1 to \(most), but got \(value) instead.", parameter: name,
        code: value < 1 ? "integer_below_min_value" : "integer_above_max_value")
    }
    return Int(value)
  }

  private static func text(of message: JSONNode, at position: Int) throws(OpenAIFailure) -> String {
    let place = "messages[\(position)]"
    guard let role = message["role"]?.string,
      ["developer", "system", "user", "assistant", "tool"].contains(role)
    else {
      throw OpenAIFailure(
        "Invalid value for '\(place).role'.", parameter: place + ".role", code: "invalid_value")
    }
    guard let content = message["content"], !content.isNull else {
      if role == "assistant" { return "" }
      throw .missing(place + ".content")
    }
    if let text = content.string { return text }
    guard let parts = content.elements else { throw .type(place + ".content", "a string or an array") }
    return parts.compactMap { $0["text"]?.string }.joined(separator: "\n")
  }
}

extension Error where Self == OpenAIFailure {
  static func missing(_ name: String) -> OpenAIFailure {
    OpenAIFailure(
      "Missing required parameter: '\(name)'.", parameter: name, code: "missing_required_parameter")
  }

  static func type(_ name: String, _ expected: String) -> OpenAIFailure {
    OpenAIFailure("Invalid type for '\(name)': expected \(expected).", parameter: name, code: "invalid_type")
  }
}
