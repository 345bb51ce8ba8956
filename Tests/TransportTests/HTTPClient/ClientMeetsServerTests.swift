import HTTPMessages
import System
import Testing
import Transport

@Suite("HTTPClient meets HTTPServer", .timeLimit(.minutes(1)))
struct ClientMeetsServerTests {
  private struct Counts {
    var waiting = 0
    var gone = 0
    var lastGone: MonotonicTime?
  }

  /// Waits for ever; counts when it is told to stop.
  private static func wait(_ group: EventLoopGroup, _ counts: Locked<Counts>) async throws {
    counts.withLock { $0.waiting += 1 }
    do { try await group.next().sleep(for: .seconds(60)) } catch {
      counts.withLock {
        $0.gone += 1
        $0.lastGone = .now
      }
      throw error
    }
  }

  /// Answers by what the target asks for.
  private struct Upstream: HTTPHandler {
    let group: EventLoopGroup
    let counts: Locked<Counts>

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
      switch request.path {
      case "/echo":
        let body = try await request.body.collect(upTo: 1 << 22)
        return HTTPResponse(status: 200, fields: ["X-Method": request.method.rawValue], body: HTTPBody(body))
      case "/silent":
        try await ClientMeetsServerTests.wait(group, counts)
        return HTTPResponse(status: 204)
      default:
        return HTTPResponse(status: 200, body: HTTPBody(stream: Ticks(group: group, counts: counts)))
      }
    }
  }

  /// One chunk, then silence.
  private final class Ticks: HTTPBodyStream {
    let group: EventLoopGroup
    let counts: Locked<Counts>
    let sent = Locked(false)

    init(group: EventLoopGroup, counts: Locked<Counts>) {
      self.group = group
      self.counts = counts
    }

    func next() async throws -> [UInt8]? {
      let first = sent.withLock { sent in
        defer { sent = true }
        return !sent
      }
      if first { return Array("tick".utf8) }
      try await ClientMeetsServerTests.wait(group, counts)
      return nil
    }

    func cancel() {}
  }

  private static func run(
    _ body: (HTTPClient, _ authority: String, EventLoopGroup, _ counts: Locked<Counts>) async throws -> Void
  ) async throws {
    let group = try EventLoopGroup(loops: 2)
    let counts = Locked(Counts())
    let address = try #require(SocketAddress("127.0.0.1:0"))
    let server = try await HTTPServer(Upstream(group: group, counts: counts), on: [address], loops: group)
    let client = try HTTPClient(on: group)
    let bound = try #require(server.addresses.first)
    try await body(client, bound.description, group, counts)
    client.stop()
    await server.shutdown(within: .seconds(2))
    group.stop()
  }

  @Test("bodies of many sizes go there and back, in parallel, over kept connections")
  func echoes() async throws {
    try await Self.run { client, authority, _, _ in
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for index in 0..<60 {
          tasks.addTask {
            let sent = [UInt8](repeating: UInt8(index), count: index * index * 100)
            let body =
              index % 2 == 0
              ? HTTPBody(sent) : HTTPBody(stream: ScriptedBody(bytes: sent.isEmpty ? [] : [sent]))
            let request = HTTPRequest(method: .post, authority: authority, target: "/echo", body: body)
            let response = try await client.respond(to: request)
            #expect(response.fields["x-method"] == "POST")
            #expect(try await response.body.collect(upTo: 1 << 22) == sent)
          }
        }
        try await tasks.waitForAll()
      }
    }
  }

  @Test("the server's handler and body are told within a second that 100 clients left")
  func leaving() async throws {
    try await Self.run { client, authority, group, counts in
      // On the loops, so that other tests that keep the default executor busy do not count.
      let tasks = (0..<100).map { index in
        group.next().run {
          let target = index % 2 == 0 ? "/silent" : "/ticks"
          let request = HTTPRequest(method: .get, authority: authority, target: target)
          let response = try? await client.respond(to: request)
          _ = try? await response?.body.collect(upTo: 100)
        }
      }
      let start = MonotonicTime.now
      while counts.withLock({ $0.waiting }) < 100, .now - start < .seconds(20) {
        try await group.next().sleep(for: .milliseconds(1))
      }
      let began = MonotonicTime.now
      for task in tasks { task.cancel() }
      while counts.withLock({ $0.gone }) < 100, .now - began < .seconds(5) {
        try await group.next().sleep(for: .milliseconds(1))
      }
      #expect(counts.withLock { $0.gone } == 100)
      #expect((counts.withLock { $0.lastGone } ?? began) - began < .seconds(1))
    }
  }
}
