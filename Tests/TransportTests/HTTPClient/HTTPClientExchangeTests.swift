import HTTPMessages
import System
import Testing
import Transport

@Suite("HTTPClient: exchanges", .timeLimit(.minutes(1)))
struct HTTPClientExchangeTests {
  @Test("a request is the same whatever the client sent before it")
  func nothingLeft() async throws {
    let seen = Locked("")
    try await ClientScene.run { connection, request in
      seen.withLock { $0 = request.text }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    } _: { scene async throws in
      let requests = [
        scene.request(
          .post, "/short", fields: ["X-Secret": "s", "Content-Type": "a/b"], body: HTTPBody("body")),
        scene.request(.get, "/get"),
        scene.request(.put, "/stream", body: HTTPBody(stream: ScriptedBody(["a", "b"]))),
        scene.request(.head, "/head"),
        scene.request(.post, "/nothing"),
        scene.request(.delete, "/delete"),
        scene.request(.patch, "/long", body: HTTPBody([UInt8](repeating: 0x61, count: 40_000))),
        scene.request("REPORT", "/body", body: HTTPBody("body")),
        scene.request("OPTIONS", "/options", fields: ["Accept": "x/y"]),
      ]
      func sent(_ request: HTTPRequest, by client: HTTPClient) async throws -> String {
        var request = request
        if case .stream = request.body.content { request.body = HTTPBody(stream: ScriptedBody(["a", "b"])) }
        _ = try await client.respond(to: request)
        return seen.withLock { $0 }
      }
      for (index, request) in requests.enumerated() {
        let fresh = try await sent(request, by: try HTTPClient(on: scene.group))
        #expect(fresh.contains(request.target))
        for before in requests[..<index] + requests[(index + 1)...] {
          _ = try await sent(before, by: scene.client)
          #expect(try await sent(request, by: scene.client) == fresh)
        }
      }
    }
  }

  @Test("a request goes out octet by octet as it was given, with nothing of libcurl's own")
  func request() async throws {
    let seen = Locked("")
    try await ClientScene.run { connection, request in
      seen.withLock { $0 = request.text }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nx-a: 2\r\n\r\nhi")
    } _: { scene async throws in
      let fields: HTTPFields = [
        "X-Empty": "", "Authorization": "Bearer a b", "Host": "evil", "Content-Length": "99",
        "Connection": "x",
        "Expect": "100-continue", "X-Über": "", "X-Text": "grün\ttab",
      ]
      var fit = fields
      fit.remove("X-Über")
      let response = try await scene.client.respond(
        to: scene.request(.post, "/a/../b//%2e?x=1&y=%00", fields: fit, body: HTTPBody("body")))
      #expect(response.status == 200)
      #expect(response.body.length == 2)
      #expect(response.fields == HTTPFields([("X-A", "1"), ("x-a", "2")]))
      #expect(try await response.body.collect(upTo: 2) == Array("hi".utf8))
      #expect(
        seen.withLock { $0 } == """
          POST /a/../b//%2e?x=1&y=%00 HTTP/1.1\r
          Host: \(scene.peer.authority)\r
          X-Empty:\r
          Authorization: Bearer a b\r
          X-Text: grün\ttab\r
          Content-Length: 4\r
          \r
          body
          """)
    }
  }

  @Test(
    "each method goes out as itself",
    arguments: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"])
  func methods(method: String) async throws {
    let seen = Locked<[String]>([])
    try await ClientScene.run { connection, request in
      seen.withLock { $0.append(request.text) }
      let length = method == "HEAD" ? 5 : 0
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
    } _: { scene async throws in
      let empty = try await scene.client.respond(to: scene.request(HTTPMethod(rawValue: method)))
      #expect(empty.body.length == 0)
      #expect(empty.fields["content-length"] == (method == "HEAD" ? "5" : nil))
      guard method != "HEAD" else { return }
      _ = try await scene.text(scene.request(HTTPMethod(rawValue: method), body: HTTPBody("b")))
      let requests = seen.withLock { $0 }
      #expect(requests.allSatisfy { $0.hasPrefix("\(method) / HTTP/1.1\r\n") })
      #expect(requests[0].contains("Content-Length: 0") == ["POST", "PUT", "PATCH"].contains(method))
      #expect(requests[1].hasSuffix("Content-Length: 1\r\n\r\nb"))
    }
  }

  @Test("what cannot be sent is refused before anything is tried")
  func unfit() async throws {
    try await ClientScene.run { connection, _ in
      connection.send("HTTP/1.1 204 No\r\n\r\n")
    } _: { scene async throws in
      func flaw(_ change: (inout HTTPRequest) -> Void) async -> HTTPClientError.Flaw? {
        var request = scene.request(.post)
        change(&request)
        guard case .invalidRequest(let flaw)? = await scene.failure(request) as? HTTPClientError else {
          return nil
        }
        return flaw
      }
      for value in ["a\r\nX: b", "a\nb", "a\rb", "a\0b", "a\u{7F}"] {
        #expect(await flaw { $0.fields["X-Y"] = value } == .field("X-Y"))
      }
      for name in ["", "a b", "a:b", "a\r\nb", "grün", "a;"] {
        #expect(await flaw { $0.fields.append(name, "v") } == .field(name))
      }
      for target in ["", "*", "a", "http://x/", "/a b", "/a\r\nX: y", "/ü", "/a#b", "/\0"] {
        #expect(await flaw { $0.target = target } == .target)
      }
      for authority in [
        "", "a@b", "a/b", "a?b", "a#b", "a b", "a\r\nb", ":80", "a:", "a:0", "a:65536", "a:8x", "a:+8",
        "[::1",
        "[]", "[::1%25lo]", "a%2fb", "ü.de", "a\\b", "[::1]:", "::1",
      ] {
        #expect(await flaw { $0.authority = authority } == .authority, "\(authority)")
      }
      for scheme in ["", "ftp", "file", "HTTP", "gopher"] {
        #expect(await flaw { $0.scheme = scheme } == .scheme)
      }
      for method in ["", "GET /", "G\r\n", "CONNECT", "TRACE", "é"] {
        #expect(await flaw { $0.method = HTTPMethod(rawValue: method) } == .method)
      }
      let stream = ScriptedBody(["x"])
      #expect(
        await flaw {
          $0.target = ""; $0.body = HTTPBody(stream: stream)
        } == .target)
      #expect(stream.state.withLock { $0.cancelled })
      #expect(scene.peer.counts == Peer.Counts())
    }
  }

  @Test("redirects are not followed, interim responses skipped, framing fields and trailers left out")
  func heads() async throws {
    try await ClientScene.run { connection, request in
      if request.number == 1 {
        connection.send(
          "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            + "HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nTransfer-Encoding: chunked\r\n"
            + "Folded: a\r\n  b\r\n\tc\r\nTrailer: X-T\r\nConnection: keep-alive\r\nContent-Encoding: gzip\r\n\r\n"
            + "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n")
      } else {
        connection.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nETag: \"a\"\r\n\r\n")
      }
    } _: { scene async throws in
      let response = try await scene.client.respond(to: scene.request())
      #expect(response.status == 307)
      #expect(
        response.fields
          == HTTPFields([
            ("Location", "http://127.0.0.1:1/"), ("Folded", "a b c"), ("Content-Encoding", "gzip"),
          ]))
      #expect(response.body.length == nil)
      #expect(try await response.body.collect(upTo: 10) == Array("abc".utf8))
      let unchanged = try await scene.client.respond(to: scene.request())
      #expect(unchanged.status == 304)
      #expect(unchanged.body.length == 0)
      #expect(scene.peer.counts.accepted == 1)
    }
  }

  @Test("answers that are not HTTP/1.1, or whose head has no end, are refused")
  func badHeads() async throws {
    let answers = [
      "SSH-2.0-x\r\n\r\n", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 600 Odd\r\n\r\n",
      "HTTP/1.1 200 OK\r\n" + String(repeating: "A: \(String(repeating: "b", count: 1_000))\r\n", count: 80),
    ]
    try await ClientScene.run { connection, request in
      connection.send(answers[request.number - 1])
    } _: { scene async throws in
      for answer in answers {
        let error = await scene.failure(scene.request(.post, body: HTTPBody("x"))) as? HTTPClientError
        #expect(error == .invalidResponse, "\(answer.prefix(20))")
        #expect(error?.requestWritten == true)
      }
    }
  }

  @Test("a task on one of the client's loops stays there; connections are used again")
  func staysOnLoop() async throws {
    try await ClientScene.run { connection, _ in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
    } _: { scene async throws in
      let loop = scene.group.loops[0]
      let stayed = try await loop.runThrowing {
        var stayed = true
        for _ in 0..<20 {
          let response = try await scene.client.respond(to: scene.request(.post, body: HTTPBody("b")))
          stayed = stayed && loop.isCurrent
          _ = try await response.body.collect(upTo: 10)
          stayed = stayed && loop.isCurrent
        }
        return stayed
      }.value
      #expect(stayed)
      #expect(scene.peer.counts.requests == 20)
      #expect(scene.peer.counts.accepted == 1)
    }
  }
}
