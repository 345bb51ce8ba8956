import HTTPMessages
import System
import Testing
import Transport

@Suite("HTTPClient: uploads", .timeLimit(.minutes(1)))
struct HTTPClientUploadTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  @Test("a stream of unknown length goes out in chunks, one of known length with its length")
  func streams() async throws {
    let seen = Locked<[String]>([])
    try await ClientScene.run { peer, request in
      seen.withLock { $0.append(request.text) }
      peer.send(Self.ok)
    } _: { scene async throws in
      let unknown = HTTPBody(stream: ScriptedBody(["one", "two"]))
      #expect(try await scene.text(scene.request(.post, body: unknown)) == "ok")
      let known = HTTPBody(stream: ScriptedBody(["one", "two"]), length: 6)
      #expect(try await scene.text(scene.request(.put, body: known)) == "ok")
      let large = String(repeating: "x", count: 300_000)
      #expect(try await scene.text(scene.request(.post, body: HTTPBody(large))) == "ok")
      let requests = seen.withLock { $0 }
      #expect(requests[0].hasSuffix("Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))
      #expect(requests[1].hasSuffix("Content-Length: 6\r\n\r\nonetwo"))
      #expect(requests[2].hasSuffix("\r\n\r\n" + large))
    }
  }

  @Test("a source that fails, falls short or runs over ends the request, which the peer never sees whole")
  func brokenSources() async throws {
    try await ClientScene.run { peer, _ in
      peer.send(Self.ok)
    } _: { scene async throws in
      let bodies = [
        HTTPBody(stream: ScriptedBody(["a"], breaks: true)),
        HTTPBody(stream: ScriptedBody(["a"], breaks: true), length: 2),
        HTTPBody(stream: ScriptedBody(["a"]), length: 2),
        HTTPBody(stream: ScriptedBody(["abc"]), length: 2),
      ]
      for body in bodies {
        let error = await scene.failure(scene.request(.post, body: body)) as? HTTPClientError
        #expect(error == .requestBody)
        #expect(error?.requestWritten == true)
      }
      #expect(try await scene.peer.wait { $0.closed == 4 } < .seconds(1))
      #expect(scene.peer.counts.requests == 0)
    }
  }

  @Test("a source is asked only as fast as the peer takes it, and told when the request is over")
  func uploadBackPressure() async throws {
    try await ClientScene.run(peerReads: false) { _, _ in
    } _: { scene async throws in
      let block = String(repeating: "y", count: 65_536)
      let source = ScriptedBody(Array(repeating: block, count: 1_000))
      let loop = scene.group.next()
      let task = loop.run { await scene.failure(scene.request(.post, body: HTTPBody(stream: source))) }
      var pulled = -1
      // Until it has come to rest.
      while pulled != source.state.withLock({ $0.pulled }) {
        pulled = source.state.withLock { $0.pulled }
        try await scene.sleep(60)
      }
      #expect(pulled < 256, "more than the kernel's buffers hold")
      task.cancel()
      #expect(await task.value as? HTTPClientError == .cancelled(requestWritten: true))
      #expect(source.state.withLock { $0.cancelled })
    }
  }
}
