import Encodings
import HTTPMessages

/// A streamed answer as steps, in the order of the real API's chunks: the role, a piece each, the reason of the
/// end, the usage where it was asked for, and `[DONE]`.
struct ChatScript {
  private(set) var steps: [AnswerScript.Step] = []
  private let request: ChatCompletionRequest
  private let simulation: Simulation
  private let head: [(String, JSONValue)]
  private var sent = 0

  init(_ answer: ChatAnswer, for request: ChatCompletionRequest, id: String, created: Int64) {
    self.request = request
    simulation = request.simulation
    head = [
      ("id", .string(id)), ("object", "chat.completion.chunk"), ("created", .integer(created)),
      ("model", .string(request.model)), ("service_tier", "default"), ("system_fingerprint", "fp_simulated"),
    ]
    let counts = simulation.usage == nil
    for index in 0..<request.choices {
      delta(["role": "assistant", "content": request.toolName == nil ? "" : nil, "refusal": nil], at: index)
      // Reasoning is silent, and paid for.
      if counts { steps.append(.send([], outputTokens: answer.reasoningTokens)) }
      if let tool = request.toolName {
        toolDelta(["name": .string(tool), "arguments": ""], at: index, opens: true)
      }
      for piece in answer.pieces {
        if isOver {
          breakOff()
          return
        }
        if simulation.pace > .zero { steps.append(.wait(simulation.pace)) }
        if request.toolName == nil {
          delta(["content": .string(piece)], at: index, tokens: counts ? 1 : 0)
        } else {
          toolDelta(["arguments": .string(piece)], at: index, tokens: counts ? 1 : 0)
        }
        sent += 1
        if simulation.stall, sent == 1 { steps.append(.stall) }
      }
      delta([:], at: index, finish: answer.finishReason)
    }
    if request.includesUsage, !simulation.noUsage { chunk([], usage: answer.usage) }
    if let output = simulation.usage?.output { steps.append(.send([], outputTokens: output)) }
    data("[DONE]")
  }

  private var isOver: Bool {
    if let after = simulation.dropAfter, sent >= after { return true }
    if simulation.error != nil, let after = simulation.errorAfter, sent >= after { return true }
    return false
  }

  /// The end that an instruction asked for: silence, or an error after the 200.
  private mutating func breakOff() {
    guard simulation.dropAfter == nil, let status = simulation.error else { return steps.append(.drop) }
    var plain = simulation
    plain.echoKey = false
    data(OpenAIFailure(simulated: status, in: plain, key: "").envelope.text)
  }

  private mutating func toolDelta(
    _ function: JSONValue, at index: Int, opens: Bool = false, tokens: Int = 0
  ) {
    let call: JSONValue =
      opens
      ? ["index": 0, "id": "call_simulated", "type": "function", "function": function]
      : ["index": 0, "function": function]
    delta(["tool_calls": [call]], at: index, tokens: tokens)
  }

  private mutating func delta(_ delta: JSONValue, at index: Int, finish: String? = nil, tokens: Int = 0) {
    chunk(
      [
        [
          "index": .integer(index), "delta": delta, "logprobs": nil,
          "finish_reason": finish.map { .string($0) } ?? nil,
        ]
      ], usage: nil, tokens: tokens)
  }

  private mutating func chunk(_ choices: [JSONValue], usage: JSONValue, tokens: Int = 0) {
    var members = head
    members.append(("choices", .array(choices)))
    if request.includesUsage { members.append(("usage", usage)) }
    data(JSONValue.object(members).text, tokens: tokens)
  }

  private mutating func data(_ text: String, tokens: Int = 0) {
    steps.append(.send(ServerSentEvent(data: text).bytes, outputTokens: tokens))
  }
}
