import HTTPMessages
import System
import Testing

@testable import Transport

/// What happened behind the server's back.
final class Observed: Sendable {
  struct Counts {
    var requests: [String] = []
    var cancelledHandlers = 0
    var cancelledStreams = 0
    var pulls = 0
    var open = 0
    var failures = 0
    var kept: HTTPBody?
  }

  private let counts = Locked(Counts())

  var now: Counts { counts.withLock { $0 } }
  func note(_ change: (inout Counts) -> Void) { counts.withLock { change(&$0) } }

  /// Waits until it is so; false after the limit.
  func becomes(within limit: Duration = .seconds(2), _ condition: (Counts) -> Bool) async -> Bool {
    let end = MonotonicTime.now + limit
    while !condition(now) {
      if MonotonicTime.now > end { return false }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return true
  }
}

/// A source: pieces of a size, as many as wanted, then an end, an error or silence.
final class Source: HTTPBodyStream, @unchecked Sendable {
  enum Ending { case end, failure, silence }
  struct Broken: Error {}

  private let observed: Observed
  private let size: Int
  private let ending: Ending
  private let left: Locked<Int>
  private let cancelled = Locked(false)

  init(_ observed: Observed, pieces: Int, of size: Int, then ending: Ending) {
    self.observed = observed
    self.size = size
    self.ending = ending
    left = Locked(pieces)
    observed.note { $0.open += 1 }
  }

  func next() async throws -> [UInt8]? {
    let more = left.withLock { left in
      left -= 1
      return left >= 0
    }
    observed.note { $0.pulls += 1 }
    if more { return [UInt8](repeating: 0x61, count: size) }
    switch ending {
    case .end: return nil
    case .failure: throw Broken()
    case .silence:
      try await Task.sleep(for: .seconds(60))
      return nil
    }
  }

  func cancel() {
    let first = cancelled.withLock { cancelled in
      defer { cancelled = true }
      return !cancelled
    }
    if first { observed.note { $0.cancelledStreams += 1 } }
  }
}

/// Answers by path.
struct Routes: HTTPHandler {
  let observed: Observed
  struct Unlucky: Error {}

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    observed.note { $0.requests.append("\(request.method) \(request.target)") }
    switch request.path {
    case "/hello":
      return HTTPResponse(status: 200, fields: ["Content-Type": "text/plain"], body: HTTPBody("hello"))
    case "/peer": return HTTPResponse(status: 200, body: HTTPBody(request.peer ?? "none"))
    case "/echo":
      return HTTPResponse(status: 200, body: HTTPBody(try await request.body.collect(upTo: 100_000)))
    case "/pass": return HTTPResponse(status: 200, body: request.body)
    case "/elsewhere":
      let octets = try await withTaskExecutorPreference(globalConcurrentExecutor) {
        try await request.body.collect(upTo: 100_000)
      }
      return HTTPResponse(status: 200, body: HTTPBody(octets))
    case "/first":
      guard case .stream(let stream, _) = request.body.content else { return HTTPResponse(status: 200) }
      let first = try await stream.next() ?? []
      stream.cancel()
      return HTTPResponse(status: 200, body: HTTPBody("\(first.count)"))
    case "/keep":
      observed.note { $0.kept = request.body }
      return HTTPResponse(status: 200, body: HTTPBody("kept"))
    case "/impatient":
      // A task of the handler waits for content and is cancelled, not the handler.
      let outcome = await withTaskGroup(of: String.self) { group in
        group.addTask {
          do { return "\(try await request.body.collect(upTo: 100).count)" } catch {
            return "\(type(of: error))"
          }
        }
        group.addTask {
          try? await Task.sleep(for: .milliseconds(50))
          return "later"
        }
        let first = await group.next() ?? ""
        group.cancelAll()
        return first + ", " + (await group.next() ?? "")
      }
      return HTTPResponse(status: 200, body: HTTPBody(outcome))
    case "/wait":
      do {
        try await Task.sleep(for: .seconds(60))
      } catch {
        observed.note { $0.cancelledHandlers += 1 }
        throw error
      }
      return HTTPResponse(status: 200)
    case "/throw": throw Unlucky()
    case "/stream": return stream(3, of: 5, .end)
    case "/known": return stream(3, of: 5, .end, length: 15)
    case "/short": return stream(2, of: 5, .end, length: 15)
    case "/long": return stream(4, of: 5, .end, length: 15)
    case "/broken": return stream(2, of: 5, .failure)
    case "/broken-at-once": return stream(0, of: 5, .failure)
    case "/silent": return stream(1, of: 5, .silence)
    case "/large": return stream(100_000, of: 65_536, .end)
    case "/bulk": return HTTPResponse(status: 200, body: HTTPBody([UInt8](repeating: 0x62, count: 3_000_000)))
    case "/slow":
      try await Task.sleep(for: .milliseconds(300))
      return HTTPResponse(status: 200, body: HTTPBody("late"))
    case "/none": return HTTPResponse(status: 204, body: HTTPBody("ignored"))
    case "/bye": return HTTPResponse(status: 200, fields: ["Connection": "close"], body: HTTPBody("bye"))
    case "/inject-value": return HTTPResponse(status: 200, fields: ["X": "a\r\nSet-Cookie: b"])
    case "/inject-nul": return HTTPResponse(status: 200, fields: ["X": "a\0b"])
    case "/inject-name": return HTTPResponse(status: 200, fields: ["X: a\r\nY": "b"])
    case "/status": return HTTPResponse(status: 1_000)
    case "/framing":
      let fields: HTTPFields = [
        "Content-Length": "99", "transfer-encoding": "gzip", "Date": "never", "Connection": "upgrade",
      ]
      return HTTPResponse(status: 200, fields: fields, body: HTTPBody("ok"))
    default: return HTTPResponse(status: 404, body: HTTPBody("\(request.method) \(request.target)"))
    }
  }

  private func stream(
    _ pieces: Int, of size: Int, _ ending: Source.Ending, length: Int? = nil
  ) -> HTTPResponse {
    let source = Source(observed, pieces: pieces, of: size, then: ending)
    return HTTPResponse(status: 200, body: HTTPBody(stream: source, length: length))
  }
}

/// Runs the test with a server on a port of its own and ends it.
func withServer(
  loops: Int = 1, on address: String = "127.0.0.1:0",
  configure: (inout HTTPServer.Configuration) -> Void = { _ in },
  _ test: (SocketAddress, Observed, HTTPServer) async throws -> Void
) async throws {
  let group = try EventLoopGroup(loops: loops)
  defer { group.stop() }
  let observed = Observed()
  var configuration = HTTPServer.Configuration()
  configuration.onFailure = { _ in observed.note { $0.failures += 1 } }
  configure(&configuration)
  let server = try await HTTPServer(
    Routes(observed: observed), on: [#require(SocketAddress(address))], loops: group,
    configuration: configuration)
  let bound = try #require(server.addresses.first)
  do {
    try await onThreadOfItsOwn { try await test(bound, observed, server) }
  } catch {
    await server.shutdown(within: .zero)
    throw error
  }
  await server.shutdown(within: .zero)
  #expect(await server.connectionCount == 0)
}
