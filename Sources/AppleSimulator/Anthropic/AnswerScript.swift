import Encodings
import HTTPMessages

/// A streamed answer as steps, in the order of the real API's events: `message_start`, each block's start,
/// deltas and stop with a `ping` after the first start, `message_delta` with cumulative usage,
/// `message_stop`.
struct AnswerScript {
  /// One thing that the stream does.
  enum Step: Equatable {
    /// Sends octets, which bill so many output tokens.
    case send([UInt8], outputTokens: Int)
    /// Waits.
    case wait(Duration)
    /// Stays silent until the caller leaves.
    case stall
    /// Breaks the connection.
    case drop
  }

  private(set) var steps: [Step] = []
  private let simulation: Simulation
  private var sent = 0
  private var ended = false

  init(_ answer: SimulatedAnswer, for request: AnthropicMessageRequest, id: String, requestID: String) {
    simulation = request.simulation
    var message: [(String, JSONValue)] = [
      ("id", .string(id)), ("type", "message"), ("role", "assistant"), ("model", .string(request.model)),
      ("content", []), ("stop_reason", nil), ("stop_sequence", nil),
    ]
    if !simulation.noUsage {
      message.append(("usage", answer.usage(for: request, output: min(1, answer.outputTokens))))
    }
    event("message_start", [("message", .object(message))])
    for (index, block) in answer.blocks.enumerated() {
      event(
        "content_block_start", [("index", .integer(index)), ("content_block", Self.opening(block, index))])
      if index == 0 { event("ping", []) }
      for piece in block.pieces {
        self.piece(index, Self.delta(block.kind, piece), tokens: request.simulation.usage == nil ? 1 : 0)
        if ended {
          breakOff(requestID)
          return
        }
      }
      if block.kind == .thinking {
        let signature: JSONValue = [
          "type": "signature_delta", "signature": .string(SimulatedAnswer.signature),
        ]
        event("content_block_delta", [("index", .integer(index)), ("delta", signature)])
      }
      event("content_block_stop", [("index", .integer(index))])
    }
    let delta: JSONValue = ["stop_reason": .string(answer.stopReason), "stop_sequence": nil]
    var closing: [(String, JSONValue)] = [("delta", delta)]
    if !simulation.noUsage { closing.append(("usage", answer.usage(for: request))) }
    event("message_delta", closing, tokens: request.simulation.usage?.output ?? 0)
    event("message_stop", [])
  }

  private mutating func piece(_ index: Int, _ delta: JSONValue, tokens: Int) {
    if isOver() {
      ended = true
      return
    }
    if simulation.pace > .zero { steps.append(.wait(simulation.pace)) }
    event("content_block_delta", [("index", .integer(index)), ("delta", delta)], tokens: tokens)
    sent += 1
    if simulation.stall, sent == 1 { steps.append(.stall) }
  }

  private func isOver() -> Bool {
    if let after = simulation.dropAfter, sent >= after { return true }
    if simulation.error != nil, let after = simulation.errorAfter, sent >= after { return true }
    return false
  }

  /// The end that an instruction asked for: silence, or an error event after the 200.
  private mutating func breakOff(_ requestID: String) {
    guard simulation.dropAfter == nil, let status = simulation.error else { return steps.append(.drop) }
    var plain = simulation
    plain.echoKey = false
    let failure = AnthropicFailure(simulated: status, in: plain, key: "")
    let bytes = ServerSentEvent(event: "error", data: failure.envelope(requestID).text).bytes
    steps.append(.send(bytes, outputTokens: 0))
  }

  private mutating func event(_ type: String, _ members: [(String, JSONValue)], tokens: Int = 0) {
    let data = JSONValue.object([("type", .string(type))] + members)
    steps.append(.send(ServerSentEvent(event: type, data: data.text).bytes, outputTokens: tokens))
  }

  private static func opening(_ block: SimulatedAnswer.Block, _ index: Int) -> JSONValue {
    switch block.kind {
    case .thinking: ["type": "thinking", "thinking": "", "signature": ""]
    case .text: ["type": "text", "text": ""]
    case .tool(let name):
      [
        "type": "tool_use", "id": .string(SimulatedAnswer.toolID(index)), "name": .string(name),
        "input": .object([]),
      ]
    }
  }

  private static func delta(_ kind: SimulatedAnswer.Block.Kind, _ piece: String) -> JSONValue {
    switch kind {
    case .thinking: ["type": "thinking_delta", "thinking": .string(piece)]
    case .text: ["type": "text_delta", "text": .string(piece)]
    case .tool: ["type": "input_json_delta", "partial_json": .string(piece)]
    }
  }
}
