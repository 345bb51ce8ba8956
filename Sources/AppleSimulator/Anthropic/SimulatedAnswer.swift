import Encodings

/// What the simulated model says: made of the request alone, a token a word.
struct SimulatedAnswer {
  /// A content block: its kind, and its text in pieces of one token.
  struct Block {
    enum Kind: Equatable { case thinking, text, tool(String) }
    let kind: Kind
    let pieces: [String]
    var whole: String { pieces.joined() }
  }

  private(set) var blocks: [Block] = []
  private(set) var stopReason = "end_turn"
  /// Thinking included, as the real one counts.
  let outputTokens: Int
  let thinkingTokens: Int

  init(to request: AnthropicMessageRequest, key: String) {
    var left = request.maxTokens
    var cut = false
    func limited(_ pieces: [String]) -> [String] {
      if pieces.count > left { cut = true }
      let taken = Array(pieces.prefix(left))
      left -= taken.count
      return taken
    }
    if request.thinks {
      let pieces = limited(SimulatedSpeech.pieces(SimulatedSpeech.thought))
      blocks.append(Block(kind: .thinking, pieces: pieces))
    }
    thinkingTokens = request.maxTokens - left
    if let tool = request.toolName {
      blocks.append(Block(kind: .tool(tool), pieces: limited(SimulatedSpeech.toolInput)))
      stopReason = "tool_use"
    } else {
      var pieces = SimulatedSpeech.pieces(
        request.wantsJSON
          ? SimulatedSpeech.estimate(of: request.prompt)
          : SimulatedSpeech.text(to: request.prompt, turns: request.turns, by: "Claude"))
      if request.simulation.echoKey { pieces += SimulatedSpeech.pieces(" Your key is \(key) indeed.") }
      if let count = request.simulation.tokens {
        pieces = (0..<count).map { pieces[$0 % pieces.count] }
      }
      pieces = limited(pieces)
      if request.maxTokens > 0 { blocks.append(Block(kind: .text, pieces: pieces)) }
    }
    if cut { stopReason = "max_tokens" }
    outputTokens = request.simulation.usage?.output ?? (request.maxTokens - left)
  }

  /// The whole message, as an unstreamed call gets it.
  func message(id: String, for request: AnthropicMessageRequest) -> JSONValue {
    let content = blocks.enumerated().map { index, block -> JSONValue in
      switch block.kind {
      case .thinking:
        ["type": "thinking", "thinking": .string(block.whole), "signature": .string(Self.signature)]
      case .text: ["type": "text", "text": .string(block.whole)]
      case .tool(let name):
        [
          "type": "tool_use", "id": .string(Self.toolID(index)), "name": .string(name),
          "input": .object(Self.input(block.whole)),
        ]
      }
    }
    var members: [(String, JSONValue)] = [
      ("id", .string(id)), ("type", "message"), ("role", "assistant"), ("model", .string(request.model)),
      ("content", .array(content)), ("stop_reason", .string(stopReason)), ("stop_sequence", nil),
    ]
    if !request.simulation.noUsage { members.append(("usage", usage(for: request))) }
    return .object(members)
  }

  /// The usage figures; `output` is what stands in `message_start`, before the answer is made.
  func usage(for request: AnthropicMessageRequest, output: Int? = nil) -> JSONValue {
    let simulation = request.simulation
    let uncached = max(0, request.inputTokens - simulation.cacheRead - simulation.cacheWrite)
    var members: [(String, JSONValue)] = [
      ("input_tokens", .integer(uncached)),
      ("cache_creation_input_tokens", .integer(simulation.cacheWrite)),
      ("cache_read_input_tokens", .integer(simulation.cacheRead)),
      (
        "cache_creation",
        [
          "ephemeral_5m_input_tokens": .integer(simulation.cacheWrite), "ephemeral_1h_input_tokens": 0,
        ]
      ),
      ("output_tokens", .integer(output ?? outputTokens)),
    ]
    if thinkingTokens > 0, output == nil {
      members.append(("output_tokens_details", ["thinking_tokens": .integer(thinkingTokens)]))
    }
    members.append(("service_tier", "standard"))
    return .object(members)
  }

  static let signature = Base64.encode(Array("a simulated signature".utf8))

  static func toolID(_ index: Int) -> String { "toolu_simulated\(index)" }

  private static func input(_ text: String) -> [(String, JSONValue)] {
    let node = try? JSONReader.read(Array(text.utf8))
    if case .object(let members)? = node?.value { return members }
    return []
  }
}
