import HTTPMessages
import System
import Testing
import Transport

@Suite("HTTPClient: failures", .timeLimit(.minutes(1)))
struct HTTPClientFailureTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  @Test(
    "RULES: a POST on a kept connection that dies is never sent twice",
    arguments: ["payload", "", String(repeating: "x", count: 40_000)])
  func noSecondPost(body: String) async throws {
    try await ClientScene.run { peer, request in
      // The second request is read whole and answered by closing.
      if request.number == 1 { peer.send(Self.ok) } else { peer.close() }
    } _: { scene async throws in
      #expect(try await scene.text(scene.request()) == "ok")
      let error = await scene.failure(scene.request(.post, body: HTTPBody(body))) as? HTTPClientError
      #expect(error == .interrupted)
      #expect(error?.requestWritten == true)
      try await scene.sleep(20)
      #expect(scene.peer.counts.requests == 2)
      #expect(scene.peer.counts.spoken == 1)
    }
  }

  @Test("a streamed POST on a kept connection that dies is never sent twice")
  func noSecondStream() async throws {
    try await ClientScene.run { peer, request in
      if request.number == 1 { peer.send(Self.ok) } else { peer.reset() }
    } _: { scene async throws in
      #expect(try await scene.text(scene.request()) == "ok")
      let body = HTTPBody(stream: ScriptedBody(["a", "b"]))
      #expect(await scene.failure(scene.request(.post, body: body)) as? HTTPClientError == .interrupted)
      try await scene.sleep(20)
      #expect(scene.peer.counts.requests == 2)
      #expect(scene.peer.counts.spoken == 1)
    }
  }

  @Test("a GET on a kept connection that dies is sent again, since it may be")
  func secondGet() async throws {
    try await ClientScene.run { peer, request in
      if request.number == 2 { peer.close() } else { peer.send(Self.ok) }
    } _: { scene async throws in
      for _ in 1...2 { #expect(try await scene.text(scene.request()) == "ok") }
      #expect(scene.peer.counts.requests == 3)
    }
  }

  @Test("a kept connection that the peer closed meanwhile is not used")
  func closedMeanwhile() async throws {
    try await ClientScene.run { peer, _ in
      peer.send(Self.ok)
      peer.close()
    } _: { scene async throws in
      for _ in 1...3 {
        #expect(try await scene.text(scene.request(.post, body: HTTPBody("x"))) == "ok")
        try await scene.sleep(5)
      }
      #expect(scene.peer.counts.requests == 3)
    }
  }

  @Test("nobody listens, no such name: nothing was written")
  func connect() async throws {
    try await ClientScene.run { _, _ in
    } _: { scene async throws in
      scene.peer.stop()
      for authority in [scene.peer.authority, "no-such-host.invalid"] {
        var request = scene.request(.post, body: HTTPBody("x"))
        request.authority = authority
        let error = await scene.failure(request) as? HTTPClientError
        #expect(error == .connect || error == .timedOut(.connect), "\(authority)")
        #expect(error?.requestWritten == false)
      }
    }
  }

  @Test(
    "each phase has its own time",
    arguments: [
      ("/silent", .head, .head), ("/idle", .idle, .idle), ("/drip", .total, .total),
      ("/tls", .connect, .connect),
      ("/tls", .total, .connect), ("/tls", .head, .connect),
    ] as [(String, HTTPClientError.Phase, HTTPClientError.Phase)])
  func timeouts(
    target: String, short: HTTPClientError.Phase, phase: HTTPClientError.Phase
  ) async throws {
    var configuration = HTTPClientConfiguration()
    configuration.connectTimeout = short == .connect ? .milliseconds(150) : .seconds(20)
    if short == .head { configuration.headTimeout = .milliseconds(150) }
    if short == .idle { configuration.idleTimeout = .milliseconds(150) }
    if short == .total { configuration.totalTimeout = .milliseconds(150) }
    try await ClientScene.run(configuration) { peer, request in
      if request.text.hasPrefix("GET /idle") { peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab") }
      if request.text.hasPrefix("GET /drip") {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\nab")
        Self.drip(peer, 500)
      }
    } _: { scene async throws in
      var request = scene.request(.get, target)
      // A handshake that gets no answer belongs to connecting.
      if target == "/tls" { request.scheme = "https" }
      let error = await scene.failure(request) as? HTTPClientError
      #expect(error == .timedOut(phase))
      #expect(error?.requestWritten == (phase != .connect))
      _ = try await scene.peer.wait { $0.closed == 1 }
      #expect(scene.peer.counts.closed == 1)
    }
  }

  private static func drip(_ peer: Peer.Connection, _ left: Int) {
    guard left > 0, let loop = EventLoop.current else { return }
    peer.send("x")
    loop.schedule(after: .milliseconds(40)) { drip(peer, left - 1) }
  }

  @Test("a reader that takes its time does not count as the server's idleness")
  func slowReader() async throws {
    var configuration = HTTPClientConfiguration()
    configuration.idleTimeout = .milliseconds(60)
    configuration.bodyBuffer = 4
    try await ClientScene.run(configuration) { peer, _ in
      peer.send(Self.ok)
    } _: { scene async throws in
      let response = try await scene.client.respond(to: scene.request())
      try await scene.sleep(200)
      #expect(try await response.body.collect(upTo: 2) == Array("ok".utf8))
    }
  }

  @Test("RULES §6.3: an address that is not public is refused at connect, by number and by name")
  func addressForbidden() async throws {
    var configuration = HTTPClientConfiguration()
    configuration.allowsPrivateAddresses = false
    try await ClientScene.run(configuration) { peer, _ in
      peer.send(Self.ok)
    } _: { scene async throws in
      let port = scene.peer.port
      for host in [
        "127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]",
      ] {
        var request = scene.request()
        request.authority = "\(host):\(port)"
        let error = await scene.failure(request) as? HTTPClientError
        // Without IPv6 there is no such route.
        #expect(error == .addressForbidden || host.hasPrefix("[") && error == .connect, "\(host)")
        #expect(error?.requestWritten == false)
      }
      #expect(scene.peer.counts == Peer.Counts())
    }
  }

  @Test("RULES §6.3: an address that is allowed by itself is connected to, its neighbours are not")
  func addressAllowed() async throws {
    let told = Locked<[[UInt8]]>([])
    var configuration = HTTPClientConfiguration()
    configuration.allowsPrivateAddresses = false
    configuration.allowsAddress = { octets in
      told.withLock { $0.append(octets) }
      return octets == [127, 0, 0, 1]
    }
    try await ClientScene.run(configuration) { peer, _ in
      peer.send(Self.ok)
    } _: { scene async throws in
      #expect(try await scene.text(scene.request()) == "ok")
      var request = scene.request()
      request.authority = "127.0.0.2:\(scene.peer.port)"
      #expect(await scene.failure(request) as? HTTPClientError == .addressForbidden)
      #expect(told.withLock { $0 } == [[127, 0, 0, 1], [127, 0, 0, 2]])
    }
  }

  @Test("a failure is explained to the log without anything of the request")
  func diagnosis() async throws {
    let told = Locked<[String]>([])
    var configuration = HTTPClientConfiguration()
    configuration.diagnose = { authority, text in told.withLock { $0.append("\(authority) \(text)") } }
    try await ClientScene.run(configuration) { peer, _ in
      peer.close()
    } _: { scene async throws in
      _ = await scene.failure(scene.request(.post, "/?secret", body: HTTPBody("secret")))
      let lines = told.withLock { $0 }
      #expect(lines.count == 1)
      #expect(lines.allSatisfy { $0.hasPrefix(scene.peer.authority + " ") && !$0.contains("secret") })
    }
  }
}
