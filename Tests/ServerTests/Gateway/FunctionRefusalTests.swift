import Encodings
import Gateway
import HTTPMessages
import Testing

@testable import Server

@Suite("What a provider says of a function's prompt")
struct FunctionRefusalTests {
  private static let secret = "Never mention the blue heron"
  private static let functions = #"""
    { "functions": {
      "claude": {
        "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 20,
        "system": "\#(secret).", "template": "Name {{mood}}.",
        "input": { "mood": { "type": "string", "max_length": 200 } }
      },
      "told": {
        "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 20, "result": "stream",
        "system": "\#(secret).", "template": "Name {{mood}}.",
        "input": { "mood": { "type": "string", "max_length": 200 } }
      },
      "gpt": {
        "provider": "openai", "model": "gpt-4.1-mini", "max_tokens": 20,
        "system": "\#(secret).", "template": "Name {{mood}}.",
        "input": { "mood": { "type": "string", "max_length": 200 } }
      },
      "creature": {
        "provider": "fal", "model": "fal-ai/flux/schnell", "kind": "image",
        "template": "\#(secret), but {{mood}}.", "input": { "mood": { "type": "string", "max_length": 200 } },
        "parameters": { "image_size": "square", "num_images": 1 }
      }
    } }
    """#

  /// A provider that refuses a request and quotes all of it, in its message and as the name of the error.
  private func server() async throws -> WholeServer {
    var over = Configuration()
    over.anthropic = Configuration.Anthropic(apiKey: Secret(WholeServer.apiKey))
    over.openAI = FallbackServer.openAI
    over.fal = Configuration.Fal(apiKey: Secret(WholeServer.falKey))
    over.fal?.models = [Configuration.Fal.exampleModel]
    try over.add(functions: Self.functions)
    let functions = over.functions
    return try await WholeServer(
      {
        $0.openAI = FallbackServer.openAI
        $0.functions = functions
      },
      upstream: { request in
        let quoted = JSONValue.string(
          "messages: \(String(decoding: try await request.body.collect(upTo: 1 << 16), as: UTF8.self))")
        let body: JSONValue =
          switch request.authority {
          case "api.openai.com":
            ["error": ["type": quoted, "code": quoted, "message": quoted]]
          case "fal.run": ["detail": [["type": quoted, "msg": quoted, "loc": ["body"]]]]
          default: ["type": "error", "error": ["type": "invalid_request_error", "message": quoted]]
          }
        var response = HTTPResponse.json(body)
        response.status = request.authority == "fal.run" ? 422 : 400
        return response
      })
  }

  @Test(
    "a prompt stays on the server also where the provider quotes it in an error; the operator's log has the words",
    arguments: ["claude", "told", "gpt", "creature"])
  func quoted(_ name: String) async throws {
    let server = try await server()
    let phone = try await server.phone()
    let response = try await phone.call(name, #"{"mood":"shy"}"#)
    let text = try await response.text
    #expect(response.status == (name == "creature" ? 422 : 400))
    #expect(text.contains(#""code":"upstream_refused""#))
    #expect(!text.contains("heron") && !text.contains("mood"), "\(text)")
    #expect(response.fields.lines.allSatisfy { !$0.value.contains("heron") })
    // Anthropic's name for the error is one; the others' were the prompt again.
    let type = try JSONReader.read(Array(text.utf8))["provider_type"]?.string
    #expect(type == (name == "creature" ? nil : "invalid_request_error"))
    let logged = server.lines.values.filter { $0.contains("provider_refused") }
    #expect(logged.count == 1 && logged.allSatisfy { $0.contains("heron") && $0.contains(name) })
  }

  @Test("on a route that passes calls through the app, which wrote the request, reads what the provider says")
  func passedThrough() async throws {
    let server = try await server()
    let phone = try await server.phone()
    let response = try await phone.ask("a red kite")
    #expect(response.status == 400)
    #expect(try await response.text.contains("a red kite"))
  }
}
