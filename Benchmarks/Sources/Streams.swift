import Glibc
import HTTPMessages
import Synchronization
import System
import Transport

/// Plays the provider: answers at once, or streams until the reader leaves.
final class StreamingProvider: HTTPHandler {
  private let loops: EventLoopGroup
  private let open = Atomic<Int>(0)

  init(loops: EventLoopGroup) { self.loops = loops }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    switch request.path {
    case "/stream":
      open.add(1, ordering: .relaxed)
      let stream = Ticks(loops.currentOrNext()) { self.open.subtract(1, ordering: .relaxed) }
      return HTTPResponse(
        status: 200, fields: ["content-type": "text/event-stream"], body: HTTPBody(stream: stream))
    case "/count":
      return HTTPResponse(status: 200, body: HTTPBody(String(open.load(ordering: .relaxed))))
    default: return try await InstantProvider().respond(to: request)
    }
  }
}

/// An event at once, then one every 250 ms.
private final class Ticks: HTTPBodyStream {
  private let loop: EventLoop
  private let ended = Atomic<Bool>(false)
  private let first = Atomic<Bool>(true)
  private let onEnd: @Sendable () -> Void

  init(_ loop: EventLoop, onEnd: @escaping @Sendable () -> Void) {
    self.loop = loop
    self.onEnd = onEnd
  }

  deinit { cancel() }

  func next() async throws -> [UInt8]? {
    if !first.exchange(false, ordering: .relaxed) { try await loop.sleep(for: .milliseconds(250)) }
    return Array("event: ping\ndata: {\"type\":\"ping\"}\n\n".utf8)
  }

  func cancel() {
    if !ended.exchange(true, ordering: .relaxed) { onEnd() }
  }
}

/// Sends every request on to the other process.
struct Relay: HTTPHandler {
  let client: HTTPClient
  let upstream: UInt16

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    var request = request
    request.scheme = "http"
    request.authority = "127.0.0.1:\(upstream)"
    return try await client.respond(to: request)
  }
}

/// Thousands of connections need thousands of descriptors.
func raiseDescriptorLimit() {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = min(limit.rlim_max, 65_536)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
