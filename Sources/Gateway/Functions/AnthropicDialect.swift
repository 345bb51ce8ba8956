import Encodings
import HTTPMessages

/// Functions by Anthropic's Messages API. The answer is always streamed, so that one that is broken off costs what
/// was seen of it and no more (RULES §5.2).
struct AnthropicDialect: FunctionDialect {
  let provider = "anthropic"
  let draws = false

  func request(of prompt: FunctionPrompt, _ function: FunctionDefinition) -> FunctionRequest {
    var members: [(String, JSONValue)] = [
      ("model", .string(function.model)), ("max_tokens", .integer(function.outputLimit)), ("stream", true),
    ]
    if let temperature = function.temperature { members.append(("temperature", .number(temperature))) }
    if !prompt.system.isEmpty {
      var block: [(String, JSONValue)] = [("type", "text"), ("text", .string(prompt.system))]
      switch function.cache {
      case .none: break
      case .fiveMinutes: block.append(("cache_control", ["type": "ephemeral"]))
      case .hour: block.append(("cache_control", ["type": "ephemeral", "ttl": "1h"]))
      }
      members.append(("system", [.object(block)]))
    }
    let messages = prompt.messages.map { message -> JSONValue in
      let images = message.images.map { image -> JSONValue in
        [
          "type": "image",
          "source": [
            "type": "base64", "media_type": .string(image.mediaType), "data": .string(image.base64),
          ],
        ]
      }
      let text: JSONValue = ["type": "text", "text": .string(message.text)]
      return ["role": .string(message.role.rawValue), "content": .array(images + [text])]
    }
    members.append(("messages", .array(messages)))
    // The version in which a temperature may be asked for.
    return FunctionRequest(
      path: "/v1/messages",
      fields: ["content-type": "application/json", "anthropic-version": "2023-06-01"],
      body: JSONValue.object(members).bytes)
  }

  func reader() -> any FunctionReader { Reader() }

  private struct Reader: StreamedFunctionReader {
    var events = ServerSentEventReader()
    private(set) var isOver = false
    private var stop: FunctionStop?

    mutating func event(_ event: ServerSentEvent) -> [FunctionEvent] {
      guard let data = try? JSONReader.read(Array(event.data.utf8)) else { return [.failed] }
      switch data["type"]?.string {
      case "content_block_start" where data["content_block"]?["type"]?.string == "text":
        return Self.text(data["content_block"]?["text"]?.string)
      case "content_block_delta" where data["delta"]?["type"]?.string == "text_delta":
        return Self.text(data["delta"]?["text"]?.string)
      case "message_delta":
        switch data["delta"]?["stop_reason"]?.string {
        case nil: break
        case "max_tokens", "model_context_window_exceeded": stop = .limit
        case "refusal": stop = .refusal
        default: stop = .end
        }
        return []
      case "message_stop":
        isOver = true
        return [.stopped(stop ?? .end)]
      case "error":
        isOver = true
        return [.failed]
      default: return []
      }
    }

    private static func text(_ text: String?) -> [FunctionEvent] {
      text.map { $0.isEmpty ? [] : [.text($0)] } ?? []
    }
  }
}
