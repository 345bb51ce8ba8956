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

/// A clock that the test moves, milliseconds since 1970.
final class TestClock: Sendable {
  private let stored: Atomic<Int64>

  init(_ milliseconds: Int64 = 1_796_040_000_000) { stored = Atomic(milliseconds) }

  var milliseconds: Int64 { stored.load(ordering: .sequentiallyConsistent) }
  func advance(_ milliseconds: Int64) { stored.add(milliseconds, ordering: .sequentiallyConsistent) }
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
