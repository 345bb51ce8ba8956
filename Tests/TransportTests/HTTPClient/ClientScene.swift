import HTTPMessages
import System
import Transport

/// A client, its loops and a peer, taken down at the end.
struct ClientScene {
  let group: EventLoopGroup
  let client: HTTPClient
  let peer: Peer

  static func run<Value>(
    _ configuration: HTTPClientConfiguration = HTTPClientConfiguration(), peerReads: Bool = true,
    script: @escaping Peer.Script,
    _ body: (ClientScene) async throws -> Value
  ) async throws -> Value {
    let group = try EventLoopGroup(loops: 1)
    let peer = try await Peer(reads: peerReads, script)
    let scene = ClientScene(group: group, client: try HTTPClient(on: group, configuration), peer: peer)
    defer {
      scene.client.stop()
      group.stop()
      peer.stop()
    }
    return try await body(scene)
  }

  func request(
    _ method: HTTPMethod = .get, _ target: String = "/", fields: HTTPFields = [:], body: HTTPBody = .empty
  ) -> HTTPRequest {
    HTTPRequest(method: method, authority: peer.authority, target: target, fields: fields, body: body)
  }

  func text(_ request: HTTPRequest) async throws -> String {
    let response = try await client.respond(to: request)
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  /// The error of asking and reading everything.
  func failure(_ request: HTTPRequest) async -> (any Error)? {
    do {
      _ = try await text(request)
      return nil
    } catch {
      return error
    }
  }

  func sleep(_ milliseconds: Int) async throws {
    try await group.next().sleep(for: .milliseconds(milliseconds))
  }
}

/// A body that gives the chunks it is made of, and an error at the end where one is given.
final class ScriptedBody: HTTPBodyStream {
  struct Broken: Error {}
  struct State {
    var chunks: [[UInt8]]
    var cancelled = false
    var pulled = 0
  }

  let state: Locked<State>
  let breaks: Bool

  convenience init(_ chunks: [String], breaks: Bool = false) {
    self.init(bytes: chunks.map { Array($0.utf8) }, breaks: breaks)
  }

  init(bytes chunks: [[UInt8]], breaks: Bool = false) {
    state = Locked(State(chunks: chunks))
    self.breaks = breaks
  }

  func next() async throws -> [UInt8]? {
    try Task.checkCancellation()
    let chunk: [UInt8]? = state.withLock { state in
      guard !state.chunks.isEmpty else { return nil }
      state.pulled += 1
      return state.chunks.removeFirst()
    }
    if chunk == nil && breaks { throw Broken() }
    return chunk
  }

  func cancel() { state.withLock { $0.cancelled = true } }
}
