import Encodings
import HTTPMessages

/// Functions by OpenAI's Chat Completions, streamed for the reason that Anthropic's are.
struct OpenAIDialect: FunctionDialect {
  let provider = "openai"
  let draws = false

  func request(of prompt: FunctionPrompt, _ function: FunctionDefinition) -> FunctionRequest {
    var members: [(String, JSONValue)] = [
      ("model", .string(function.model)), ("max_completion_tokens", .integer(function.outputLimit)),
      ("stream", true),
    ]
    if let temperature = function.temperature { members.append(("temperature", .number(temperature))) }
    var messages: [JSONValue] = []
    if !prompt.system.isEmpty {
      messages.append(["role": "system", "content": .string(prompt.system)])
    }
    messages += prompt.messages.map { message in
      let role = JSONValue.string(message.role.rawValue)
      guard !message.images.isEmpty else { return ["role": role, "content": .string(message.text)] }
      let images = message.images.map { image -> JSONValue in
        [
          "type": "image_url",
          "image_url": ["url": .string("data:\(image.mediaType);base64,\(image.base64)")],
        ]
      }
      return ["role": role, "content": .array(images + [["type": "text", "text": .string(message.text)]])]
    }
    members.append(("messages", .array(messages)))
    return FunctionRequest(path: "/v1/chat/completions", body: JSONValue.object(members).bytes)
  }

  func reader() -> any FunctionReader { Reader() }

  private struct Reader: StreamedFunctionReader {
    var events = ServerSentEventReader()
    private(set) var isOver = false
    private var stop: FunctionStop?

    mutating func event(_ event: ServerSentEvent) -> [FunctionEvent] {
      if event.data == "[DONE]" {
        isOver = true
        return [stop.map { .stopped($0) } ?? .failed]
      }
      guard let data = try? JSONReader.read(Array(event.data.utf8)), data["error"] == nil else {
        isOver = true
        return [.failed]
      }
      // The chunk with the usage has no choice.
      guard let choice = data["choices"]?.elements?.first else { return [] }
      var out: [FunctionEvent] = []
      let delta = choice["delta"]
      if let text = delta?["content"]?.string, !text.isEmpty { out.append(.text(text)) }
      if delta?["refusal"]?.string != nil { stop = .refusal }
      switch choice["finish_reason"]?.string {
      case nil: break
      case "length": stop = .limit
      case "content_filter": stop = .refusal
      default: stop = stop ?? .end
      }
      return out
    }
  }
}
