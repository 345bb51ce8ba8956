import HTTPMessages
import System
import Testing

@testable import Transport

@Suite("Server: what it answers", .serialized)
struct ServerTests {
  @Test("pipelined requests are answered in order")
  func pipelined() async throws {
    try await withServer { address, observed, _ in
      let client = try RawClient(address)
      client.send(
        Hygiene.get("/slow") + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
          + Hygiene.get("/1")
          + Hygiene.chunked("1\r\nx\r\n0\r\n\r\n").replacing("POST / ", with: "POST /echo ")
          + Hygiene.get("/stream") + Hygiene.get("/2"))
      let answers = try (0..<6).map { _ in try client.answer().text }
      #expect(answers == ["late", "abc", "GET /1", "x", "aaaaaaaaaaaaaaa", "GET /2"])
      #expect(observed.now.requests.count == 6)
      // Many at once, more than one read holds.
      client.send((0..<3_000).map { Hygiene.get("/\($0)") }.joined())
      for number in 0..<3_000 { #expect(try client.answer().text == "GET /\(number)") }
    }
  }

  @Test("content that comes octet by octet", arguments: ["/echo", "/pass", "/elsewhere"])
  func dripping(_ path: String) async throws {
    try await withServer { address, _, _ in
      let requests = [
        "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST \(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\nT: u\r\n\r\n",
      ]
      let client = try RawClient(address)
      for request in requests {
        for octet in request.utf8 {
          client.send([octet])
          if octet % 4 == 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        #expect(try client.answer().text == "hello")
      }
    }
  }

  @Test("large content passes both ways with its length")
  func large() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address)
      let octets = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      client.send("POST /pass HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
      client.send(octets)
      let answer = try client.answer()
      #expect(answer.content == octets)
      #expect(answer.has("Content-Length: 300000"))
      let other = try RawClient(address)
      other.send(Hygiene.get("/bulk"))
      #expect(try other.answer().content.count == 3_000_000)
    }
  }

  @Test("100 Continue is said when the handler pulls, and only then")
  func expectation() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address)
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
      #expect(try client.answer().status == 100)
      client.send("hello")
      #expect(try client.answer().text == "hello")
      // A refused one is not told to go on, and the connection ends: nobody knows what comes next.
      client.send("POST /404 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
      let refused = try client.answer()
      #expect(refused.status == 404)
      #expect(refused.has("Connection: close"))
      client.send("hello")
      #expect(client.seesEnd())
      let large = try RawClient(address)
      large.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 500000\r\n\r\n")
      #expect(try large.answer().status == 413)
    }
  }

  @Test("HEAD has the length and no content; OPTIONS reaches the handler; 204 has neither")
  func methods() async throws {
    try await withServer { address, observed, _ in
      let client = try RawClient(address)
      client.send(Hygiene.get("/hello").replacing("GET", with: "HEAD"))
      #expect(try client.answer(toHead: true).has("Content-Length: 5"))
      client.send(Hygiene.get("/stream").replacing("GET", with: "HEAD"))
      #expect(try client.answer(toHead: true).status == 200)
      #expect(observed.now.pulls == 0)
      #expect(await observed.becomes { $0.cancelledStreams == 1 })
      client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try client.answer().text == "OPTIONS *")
      client.send(Hygiene.get("/none"))
      let none = try client.answer()
      #expect(none.status == 204)
      #expect(!none.head.lowercased().contains("content-length"))
      client.send(Hygiene.get("/hello"))
      #expect(try client.answer().text == "hello")
    }
  }

  @Test("HTTP/1.0 gets no chunks, and the end")
  func old() async throws {
    try await withServer { address, _, _ in
      for path in ["/stream", "/known"] {
        let client = try RawClient(address)
        client.send("GET \(path) HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let octets = try #require(client.readToEnd())
        let text = String(decoding: octets, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text.hasSuffix("\r\n\r\naaaaaaaaaaaaaaa"))
        #expect(text.contains("Connection: close\r\n"))
        #expect(!text.lowercased().contains("chunked"))
      }
    }
  }

  @Test("Connection: close is honoured from both sides")
  func closing() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address)
      client.send(Hygiene.field("Connection: close").replacing("GET / ", with: "GET /hello "))
      let answer = try client.answer()
      #expect(answer.has("Connection: close"))
      #expect(client.seesEnd())
      let other = try RawClient(address)
      other.send(Hygiene.get("/bye") + Hygiene.get("/hello"))
      #expect(try other.answer().text == "bye")
      #expect(other.seesEnd())
    }
  }

  @Test("a handler that throws is a plain 500, and the connection goes on")
  func throwing() async throws {
    try await withServer { address, observed, _ in
      let client = try RawClient(address)
      client.send(Hygiene.get("/throw"))
      let answer = try client.answer()
      #expect(answer.status == 500)
      #expect(!answer.text.contains("Unlucky"))
      #expect(observed.now.failures == 1)
      client.send(Hygiene.get("/hello"))
      #expect(try client.answer().text == "hello")
    }
  }

  @Test(
    "a stream that breaks, or is shorter or longer than it said, ends without its end",
    arguments: ["/broken", "/short", "/long"])
  func broken(_ path: String) async throws {
    try await withServer { address, observed, _ in
      let client = try RawClient(address)
      client.send(Hygiene.get(path) + Hygiene.get("/hello"))
      let octets = try #require(client.readToEnd())
      let text = String(decoding: octets, as: UTF8.self)
      #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
      #expect(!text.hasSuffix("0\r\n\r\n"))
      #expect(!text.contains("hello"))
      #expect(text.count { $0 == "a" } < 30)
      #expect(await observed.becomes { $0.cancelledStreams == 1 })
    }
  }

  @Test("content that no handler wanted is read if it is short, else the connection ends")
  func unwanted() async throws {
    try await withServer(configure: { $0.drainLimit = 1_000 }) { address, _, _ in
      let client = try RawClient(address)
      client.send("POST /short-content HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n")
      #expect(try client.answer().status == 404)
      client.send(String(repeating: "x", count: 900) + Hygiene.get("/hello"))
      #expect(try client.answer().text == "hello")
      client.send("POST /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
      #expect(try client.answer().text == "2")
      client.send("1\r\nc\r\n0\r\n\r\n" + Hygiene.get("/hello"))
      #expect(try client.answer().text == "hello")
      client.send("POST /long-content HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n")
      #expect(try client.answer().has("Connection: close"))
      client.send(String(repeating: "x", count: 1_001) + Hygiene.get("/hello"))
      #expect(client.seesEnd())
    }
  }

  @Test("content that was kept beyond the answer yields nothing of what follows")
  func kept() async throws {
    try await withServer { address, observed, _ in
      let client = try RawClient(address)
      client.send("POST /keep HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
      #expect(try client.answer().text == "kept")
      client.send("hello" + Hygiene.get("/hello"))
      #expect(try client.answer().text == "hello")
      let kept = try #require(observed.now.kept)
      await #expect(throws: HTTPBodyError.incomplete) { try await kept.collect(upTo: 100) }
    }
  }

  @Test("a task of the handler that waits for content can be cancelled alone")
  func impatient() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address)
      client.send("POST /impatient HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
      #expect(try client.answer().text == "later, CancellationError")
      client.send("hello" + Hygiene.get("/hello"))
      #expect(try client.answer().text == "hello")
    }
  }

  @Test("IPv6, and the peer's address")
  func addresses() async throws {
    for (listen, peer) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1")] {
      try await withServer(loops: 2, on: listen) { address, _, _ in
        #expect(address.port != 0)
        for _ in 0..<8 {
          let client = try RawClient(address)
          client.send(Hygiene.get("/peer"))
          #expect(try client.answer().text == peer)
        }
      }
    }
  }

  @Test(
    "addresses are numeric, with a port",
    arguments: [
      "", ":80", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]", "[::1:80",
      "[]:80",
      "1.2.3:80", "[127.0.0.1]:80", "256.0.0.1:80",
    ])
  func noAddress(_ text: String) { #expect(SocketAddress(text) == nil) }

  @Test(
    "dates",
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ] as [(Int64, String)])
  func dates(_ seconds: Int64, _ text: String) { #expect(DateField.text(seconds) == text) }
}
