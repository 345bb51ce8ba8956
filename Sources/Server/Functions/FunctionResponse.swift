import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// Makes a function's answer of a provider's.
struct FunctionResponse {
  let function: FunctionDefinition
  let reader: any FunctionReader

  /// The app's answer. Where it is whole, it comes once the provider's is; a ``Failure`` is thrown where that
  /// breaks off.
  func answer(to response: HTTPResponse) async throws -> HTTPResponse {
    let stream = response.body.pulled
    guard function.result == .stream else { return .json(try await whole(stream).json) }
    return HTTPResponse(
      status: 200,
      fields: [
        "content-type": "text/event-stream", "cache-control": "no-store, no-transform",
        // Middleboxes that buffer would hold events back.
        "x-accel-buffering": "no",
      ], body: HTTPBody(stream: FunctionStream(stream, function, reader)))
  }

  /// The provider's answer read to its end, with what an app gets of it.
  func whole(_ stream: any HTTPBodyStream) async throws -> (answer: FunctionAnswer, json: JSONValue) {
    var reader = reader
    var answer = FunctionAnswer()
    do {
      while let chunk = try await stream.next() {
        for event in reader.read(chunk) { answer.add(event) }
        if answer.hasFailed { break }
      }
    } catch is HTTPBodyError {
      throw Failure.functionBroken
    }
    for event in reader.end() { answer.add(event) }
    guard !answer.hasFailed else {
      stream.cancel()
      throw Failure.functionBroken
    }
    guard let json = answer.json(function) else { throw Failure.functionOutput }
    return (answer, json)
  }
}

/// A function's answer as it comes: `text` events with a piece each, then one `done` with what an answer that is
/// not streamed would be, or one `error`.
actor FunctionStream: BreakableBody {
  private let upstream: any HTTPBodyStream
  private let function: FunctionDefinition
  private var reader: any FunctionReader
  private var answer = FunctionAnswer()
  private var isOver = false
  /// Whether the app was told of an error.
  private(set) var isBroken = false

  init(_ upstream: any HTTPBodyStream, _ function: FunctionDefinition, _ reader: any FunctionReader) {
    self.upstream = upstream
    self.function = function
    self.reader = reader
  }

  deinit { upstream.cancel() }

  func next() async throws -> [UInt8]? {
    while !isOver {
      var events: [FunctionEvent]
      var hasEnded = false
      do {
        if let chunk = try await upstream.next() {
          events = reader.read(chunk)
        } else {
          events = reader.end()
          hasEnded = true
        }
      } catch is HTTPBodyError {
        events = [.failed]
      }
      var out: [UInt8] = []
      for event in events where !answer.hasFailed {
        answer.add(event)
        if case .text(let text) = event, !answer.hasFailed {
          out += Self.event("text", ["text": .string(text)])
        }
      }
      if answer.hasFailed {
        isOver = true
        isBroken = true
        upstream.cancel()
        return out + Self.event("error", Self.problem(.functionBroken))
      }
      if hasEnded {
        isOver = true
        guard let json = answer.json(function) else {
          isBroken = true
          return out + Self.event("error", Self.problem(.functionOutput))
        }
        return out + Self.event("done", json)
      }
      if !out.isEmpty { return out }
    }
    return nil
  }

  nonisolated func cancel() { upstream.cancel() }

  private static func event(_ name: String, _ data: JSONValue) -> [UInt8] {
    ServerSentEvent(event: name, data: data.text).bytes
  }

  private static func problem(_ failure: Failure) -> JSONValue {
    ["code": .string(failure.code.rawValue), "message": .string(failure.message)]
  }
}

extension Failure {
  /// The provider's answer broke off.
  static let functionBroken = Failure(
    502, "upstream_failed", "The AI provider's answer broke off.", fields: ["x-should-retry": "false"])
  /// The model said something else than it was asked for.
  static let functionOutput = Failure(
    502, .outputInvalid, "The model's answer is not what the function promises; try again.",
    fields: ["x-should-retry": "false"])
}

extension FunctionDefinition {
  /// The longest body that the fields can need, octets: every character may be escaped.
  var inputLimit: Int {
    let sum = fields.reduce(4_096) { $0 + 64 + $1.shape.inputLimit }
    return min(sum, 32 << 20)
  }
}

extension FunctionField.Shape {
  fileprivate var inputLimit: Int {
    switch self {
    case .string(let length): length * 12 + 2
    case .integer, .number: 64
    case .boolean: 8
    case .choice(let choices): choices.map { $0.utf8.count * 6 + 2 }.max() ?? 2
    case .list(let inner, let count): count * (inner.inputLimit + 4)
    case .image(let bytes): bytes / 3 * 4 + 8
    }
  }
}
