import Encodings
import HTTPMessages

/// Functions by a model of fal.ai, called directly.
struct FalDialect: FunctionDialect {
  let provider = "fal"
  let draws = true

  func request(of prompt: FunctionPrompt, _ function: FunctionDefinition) -> FunctionRequest {
    let text = prompt.messages.map(\.text).joined(separator: "\n")
    let body = JSONValue.object(
      [("prompt", .string(text))] + function.parameters.map { ($0.name, $0.value) })
    return FunctionRequest(path: Fal.Way.direct.path(of: function.model), body: body.bytes)
  }

  func reader() -> any FunctionReader { Reader() }

  private struct Reader: FunctionReader {
    /// Pictures within the answer make it long.
    private static let limit = 16 << 20
    private var body: [UInt8] = []
    private var isTooLong = false

    mutating func read(_ chunk: [UInt8]) -> [FunctionEvent] {
      if chunk.count > Self.limit - body.count { isTooLong = true } else { body.append(contentsOf: chunk) }
      return []
    }

    mutating func end() -> [FunctionEvent] {
      guard !isTooLong, let root = try? JSONReader.read(body) else { return [.failed] }
      let nodes = root["images"]?.elements ?? [root["image"]].compactMap(\.self)
      let images = nodes.compactMap { node -> FunctionImage? in
        // Only what an app may load, or has already.
        guard let url = node["url"]?.string, url.hasPrefix("https://") || url.hasPrefix("data:image/") else {
          return nil
        }
        return FunctionImage(
          url: url, contentType: node["content_type"]?.string, width: node["width"]?.integer,
          height: node["height"]?.integer)
      }
      if images.isEmpty { return [.failed] }
      return [.images(images), .stopped(.end)]
    }
  }
}
