import Encodings
import HTTPMessages
import Synchronization

/// Keeps what was given to it.
final class Recorder<Value: Sendable>: Sendable {
  private let stored = Mutex<[Value]>([])

  func append(_ value: Value) { stored.withLock { $0.append(value) } }
  var values: [Value] { stored.withLock { $0 } }
  func clear() { stored.withLock { $0 = [] } }
}

/// A handler made of a closure.
struct Handler: HTTPHandler {
  let answer: @Sendable (HTTPRequest) async throws -> HTTPResponse

  func respond(to request: HTTPRequest) async throws -> HTTPResponse { try await answer(request) }
}

extension HTTPResponse {
  /// The whole body.
  var text: String {
    get async throws { String(decoding: try await body.collect(upTo: 1 << 22), as: UTF8.self) }
  }

  var json: JSONNode {
    get async throws { try JSONReader.read(try await body.collect(upTo: 1 << 22)) }
  }
}
