import Encodings

/// What the simulated model answers: made of the request alone, a token a word.
struct ChatAnswer {
  /// Tokens that are paid for and not shown.
  let reasoningTokens: Int
  /// The visible text, or the arguments of the tool's call, in pieces of one token.
  let pieces: [String]
  let finishReason: String
  /// Of all choices together, reasoning included.
  let outputTokens: Int

  private let request: ChatCompletionRequest

  init(to request: ChatCompletionRequest, key: String) {
    self.request = request
    let thought = request.simulation.thinking ? SimulatedSpeech.pieces(SimulatedSpeech.thought).count : 0
    reasoningTokens = min(thought, request.maxTokens)
    var all: [String]
    if request.toolName != nil {
      all = SimulatedSpeech.toolInput
    } else {
      all = SimulatedSpeech.pieces(
        request.wantsJSON
          ? SimulatedSpeech.estimate(of: request.prompt)
          : SimulatedSpeech.text(to: request.prompt, turns: request.turns, by: "GPT"))
      if request.simulation.echoKey { all += SimulatedSpeech.pieces(" Your key is \(key) indeed.") }
      if let count = request.simulation.tokens { all = (0..<count).map { [all] in all[$0 % all.count] } }
    }
    pieces = Array(all.prefix(request.maxTokens - reasoningTokens))
    finishReason = pieces.count < all.count ? "length" : request.toolName == nil ? "stop" : "tool_calls"
    outputTokens = request.simulation.usage?.output ?? (reasoningTokens + pieces.count) * request.choices
  }

  /// The whole answer, as an unstreamed call gets it.
  func completion(id: String, created: Int64) -> JSONValue {
    let message: JSONValue =
      if let tool = request.toolName {
        [
          "role": "assistant", "content": nil, "refusal": nil, "annotations": [],
          "tool_calls": [
            [
              "id": "call_simulated", "type": "function",
              "function": ["name": .string(tool), "arguments": .string(pieces.joined())],
            ]
          ],
        ]
      } else {
        ["role": "assistant", "content": .string(pieces.joined()), "refusal": nil, "annotations": []]
      }
    let choices = (0..<request.choices).map { index -> JSONValue in
      ["index": .integer(index), "message": message, "logprobs": nil, "finish_reason": .string(finishReason)]
    }
    var members: [(String, JSONValue)] = [
      ("id", .string(id)), ("object", "chat.completion"), ("created", .integer(created)),
      ("model", .string(request.model)), ("choices", .array(choices)),
    ]
    if !request.simulation.noUsage { members.append(("usage", usage)) }
    return .object(members + [("service_tier", "default"), ("system_fingerprint", "fp_simulated")])
  }

  var usage: JSONValue {
    let simulation = request.simulation
    return [
      "prompt_tokens": .integer(request.inputTokens), "completion_tokens": .integer(outputTokens),
      "total_tokens": .integer(request.inputTokens + outputTokens),
      "prompt_tokens_details": [
        "cached_tokens": .integer(simulation.cacheRead),
        "cache_write_tokens": .integer(simulation.cacheWrite),
        "audio_tokens": 0,
      ],
      "completion_tokens_details": [
        "reasoning_tokens": .integer(reasoningTokens * request.choices), "audio_tokens": 0,
        "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
      ],
    ]
  }
}
