import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

/// A way to an answer that costs money.
enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case claude
  case gpt
  case picture
  case queuedPicture
  case function
  case streamedFunction
  case gptFunction
  case streamedGPTFunction
  case pictureFunction
  case fallingBack

  var testDescription: String { rawValue }

  static let functions = #"""
    { "functions": {
      "function": { \#(claudeModel), \#(textField) },
      "streamed_function": { \#(claudeModel), "result": "stream", \#(textField) },
      "gpt_function": { \#(gptModel), \#(textField) },
      "streamed_gpt_function": { \#(gptModel), "result": "stream", \#(textField) },
      "falling_back": { \#(claudeModel), "fallbacks": [{ \#(gptModel) }], \#(textField) },
      "picture_function": {
        "provider": "fal", "model": "fal-ai/flux/schnell", "kind": "image", "template": "A creature: {{text}}.",
        "input": { "text": { "type": "string", "max_length": 200 } },
        "parameters": { "image_size": "square", "num_images": 1 }
      }
    } }
    """#
  private static let claudeModel = #""provider": "anthropic", "model": "claude-haiku-4-5""#
  private static let gptModel = #""provider": "openai", "model": "gpt-4.1-mini""#
  private static let textField = #"""
    "max_tokens": 64, "template": "Tell of {{text}}.", "input": { "text": { "type": "string", "max_length": 200 } }
    """#

  private var functionName: String? {
    switch self {
    case .claude, .gpt, .picture, .queuedPicture: nil
    case .function: "function"
    case .streamedFunction: "streamed_function"
    case .gptFunction: "gpt_function"
    case .streamedGPTFunction: "streamed_gpt_function"
    case .pictureFunction: "picture_function"
    case .fallingBack: "falling_back"
    }
  }

  /// Whether it is asked for a stream, for each way that it can be.
  var streams: [Bool] {
    switch self {
    case .claude, .gpt: [false, true]
    case .streamedFunction, .streamedGPTFunction: [true]
    default: [false]
    }
  }

  func request(_ prompt: String, stream: Bool) -> HTTPRequest {
    switch self {
    case .claude: return Phone.question(prompt, stream: stream)
    case .gpt: return OpenAIServer.question(prompt, stream: stream)
    case .picture: return Phone.picture(prompt)
    case .queuedPicture: return Phone.picture(prompt, target: Phone.queue)
    default: return Phone.call(functionName ?? "", JSONValue.object([("text", .string(prompt))]).text)
    }
  }

  /// What asks for more than can be bounded.
  var unbounded: [HTTPRequest] {
    let long = String(repeating: "word ", count: 600_000)
    switch self {
    case .claude:
      return [
        #"{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQ="}"#,
        #"{"type":"url","url":"https://example.com/100.pdf"}"#, #"{"type":"file","file_id":"file_1"}"#,
      ].map { source in
        var request = Phone.question()
        request.body = HTTPBody(
          """
          {"model":"claude-haiku-4-5","max_tokens":64,"messages":[{"role":"user","content":[
            {"type":"document","source":\(source)},{"type":"text","text":"summarise"}]}]}
          """)
        return request
      } + [Phone.question(long)]
    case .gpt:
      return [
        #"{"type":"file","file":{"filename":"100.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQ="}}"#,
        #"{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}"#,
        #"{"type":"file","file":{"file_id":"file_1"}}"#,
      ].map { part in
        OpenAIServer.request(
          #"{"model":"gpt-4.1-mini","max_completion_tokens":64,"messages":[{"role":"user","content":[\#(part)]}]}"#
        )
      } + [OpenAIServer.question("hello", more: #","n":50"#), OpenAIServer.question(long)]
    case .picture, .queuedPicture:
      let target = self == .picture ? Phone.direct : Phone.queue
      return [
        #","num_images":100"#, #","image_size":{"width":100000,"height":100000}"#,
        #","image_url":"https://example.com/a.png""#, #","num_inference_steps":5000"#,
      ].map { Phone.picture("a cat", target: target, more: $0) } + [Phone.picture(long, target: target)]
    default:
      return [
        Phone.call(functionName ?? "", #"{"text":"a","max_tokens":100000}"#),
        Phone.call(functionName ?? "", #"{"text":"\#(String(repeating: "x", count: 201))"}"#),
        request(long, stream: false),
      ]
    }
  }
}
