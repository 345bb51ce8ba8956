import HTTPMessages
import System
import Testing
import Transport

@Suite("HTTPClient: streams", .serialized, .timeLimit(.minutes(1)))
struct HTTPClientStreamTests {
  private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test("each piece is there as soon as it was sent, and the end ever after")
  func pieceByPiece() async throws {
    let connection = Locked<Peer.Connection?>(nil)
    try await ClientScene.run { peer, _ in
      connection.withLock { $0 = peer }
      peer.send(Self.chunked)
    } _: { scene async throws in
      let response = try await scene.client.respond(to: scene.request())
      guard case .stream(let body, nil) = response.body.content else {
        Issue.record("no stream")
        return
      }
      for piece in ["a", "b", "c"] {
        connection.withLock { $0?.send("1\r\n\(piece)\r\n") }
        #expect(try await body.next() == Array(piece.utf8))
      }
      connection.withLock { $0?.send("0\r\n\r\n") }
      #expect(try await body.next() == nil)
      #expect(try await body.next() == nil)
    }
  }

  @Test("a reader that does not read holds the sender back, and gets everything once it reads")
  func backPressure() async throws {
    let block = String(repeating: "0123456789abcdef", count: 4_096)
    try await ClientScene.run { peer, _ in
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(block.utf8.count * 800)\r\n\r\n")
      peer.send(block, times: 800)
    } _: { scene async throws in
      let response = try await scene.client.respond(to: scene.request())
      guard case .stream(let body, _) = response.body.content else { return }
      var sent = -1
      // Until it has come to rest.
      while sent != scene.peer.counts.sent {
        sent = scene.peer.counts.sent
        try await scene.sleep(60)
      }
      #expect(sent < 16 << 20, "more than the kernel's buffers hold")
      var total = 0
      var largest = 0
      while let chunk = try await body.next() {
        total += chunk.count
        largest = max(largest, chunk.count)
      }
      #expect(total == block.utf8.count * 800)
      #expect(largest <= 96 * 1024)
    }
  }

  @Test("cancelling before the head closes the connection at once and tells whether the request left")
  func cancelBeforeHead() async throws {
    try await ClientScene.run { _, _ in
    } _: { scene async throws in
      let loop = scene.group.next()
      let task = loop.run {
        await scene.failure(scene.request(.post, body: HTTPBody("x"))) as? HTTPClientError
      }
      _ = try await scene.peer.wait { $0.requests == 1 }
      task.cancel()
      #expect(await task.value == .cancelled(requestWritten: true))
      #expect(try await scene.peer.wait { $0.closed == 1 } < .seconds(1))

      let early = loop.run {
        unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
        return await scene.failure(scene.request()) as? HTTPClientError
      }
      #expect(await early.value == .cancelled(requestWritten: false))
      #expect(scene.peer.counts.accepted == 1)
    }
  }

  @Test("a silent stream is aborted by cancelling its reader, by cancel() and by letting go of it")
  func abortStream() async throws {
    try await ClientScene.run { peer, _ in
      peer.send(Self.chunked + "1\r\nx\r\n")
    } _: { scene async throws in
      for way in 1...3 {
        var response: HTTPResponse? = try await scene.client.respond(to: scene.request())
        guard case .stream(let body, _)? = response?.body.content else { return }
        #expect(try await body.next() == [0x78])
        switch way {
        case 1:
          let reader = scene.group.next().runThrowing { try await body.next() }
          try await scene.sleep(5)
          reader.cancel()
          await #expect(throws: CancellationError.self) { try await reader.value }
        case 2:
          body.cancel()
          body.cancel()
          await #expect(throws: CancellationError.self) { try await body.next() }
        default: break
        }
        response = nil
        if way == 3 { continue }
        #expect(try await scene.peer.wait { $0.closed == way } < .seconds(1))
      }
      #expect(try await scene.peer.wait { $0.closed == 3 } < .seconds(1))
    }
  }

  @Test("200 streams that are cancelled together are all aborted within a second")
  func abortMany() async throws {
    try await ClientScene.run { peer, _ in
      peer.send(Self.chunked + "1\r\nx\r\n")
    } _: { scene async throws in
      let streaming = Locked(0)
      let began = try await withThrowingTaskGroup(of: Void.self) { tasks in
        for _ in 0..<200 {
          tasks.addTask {
            let response = try? await scene.client.respond(to: scene.request())
            guard case .stream(let body, _)? = response?.body.content else { return }
            _ = try? await body.next()
            streaming.withLock { $0 += 1 }
            _ = try? await body.next()
          }
        }
        while streaming.withLock({ $0 }) < 200 { try await scene.sleep(1) }
        tasks.cancelAll()
        return MonotonicTime.now
      }
      _ = try await scene.peer.wait { $0.closed == 200 }
      #expect(.now - began < .seconds(1))
      #expect(scene.peer.counts.closed == 200)
    }
  }

  @Test(
    "a stream that breaks gives what came and then the error",
    arguments: [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
    ])
  func breaks(answer: String) async throws {
    try await ClientScene.run { peer, request in
      peer.send(answer)
      if request.number == 1 { peer.close() } else { peer.reset() }
    } _: { scene async throws in
      for _ in 1...2 {
        let response = try? await scene.client.respond(to: scene.request())
        // A reset may overtake what was sent before it.
        guard case .stream(let body, _)? = response?.body.content else { continue }
        await #expect(throws: HTTPClientError.interrupted) {
          while let chunk = try await body.next() { #expect(chunk == Array("ab".utf8)) }
        }
        await #expect(throws: HTTPClientError.interrupted) { try await body.next() }
      }
    }
  }

  @Test("stopping the client ends its streams and refuses further requests; letting go of it does not")
  func stop() async throws {
    let group = try EventLoopGroup(loops: 1)
    let peer = try await Peer { peer, _ in peer.send(Self.chunked + "1\r\nx\r\n") }
    defer {
      group.stop()
      peer.stop()
    }
    var client: HTTPClient? = try HTTPClient(on: group)
    let request = HTTPRequest(method: .get, authority: peer.authority, target: "/")
    let first = try await client?.respond(to: request)
    client = nil
    guard case .stream(let body, _)? = first?.body.content else { return }
    #expect(try await body.next() == [0x78])
    body.cancel()
    #expect(try await peer.wait { $0.closed == 1 } < .seconds(1))

    let second = try HTTPClient(on: group)
    let response = try await second.respond(to: request)
    guard case .stream(let other, _) = response.body.content else { return }
    #expect(try await other.next() == [0x78])
    second.stop()
    await #expect(throws: HTTPClientError.stopped(requestWritten: true)) { try await other.next() }
    await #expect(throws: HTTPClientError.stopped(requestWritten: false)) {
      try await second.respond(to: request)
    }
    #expect(try await peer.wait { $0.closed == 2 } < .seconds(1))
  }
}
