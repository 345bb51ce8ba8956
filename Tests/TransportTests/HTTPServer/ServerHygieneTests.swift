import Testing

@testable import Transport

@Suite("Server: what it refuses on a socket", .serialized)
struct ServerHygieneTests {
  private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test("ambiguous octets get one answer, then the end, and nothing behind them is a request")
  func refuses() async throws {
    try await withServer { address, observed, _ in
      for hygiene in Hygiene.framing + Hygiene.lines + Hygiene.targets + Hygiene.sizes {
        let client = try RawClient(address)
        client.send(hygiene.octets + Array(Self.smuggled.utf8))
        let answer = try client.answer()
        #expect(answer.status == hygiene.refusal.status, "\(hygiene.name)")
        #expect(answer.has("Connection: close"), "\(hygiene.name)")
        #expect(answer.text.contains(hygiene.refusal.reason), "\(hygiene.name)")
        #expect(client.seesEnd(), "\(hygiene.name)")
      }
      #expect(observed.now.requests.isEmpty)
    }
  }

  @Test("bad chunks are 400 and the end, though the handler was already called")
  func chunks() async throws {
    try await withServer { address, observed, _ in
      for hygiene in Hygiene.chunks {
        let client = try RawClient(address)
        let text = String(decoding: hygiene.octets, as: UTF8.self)
        client.send(text.replacing("POST / ", with: "POST /echo ") + Self.smuggled)
        let answer = try client.answer()
        #expect(answer.status == 400, "\(hygiene.name)")
        #expect(answer.has("Connection: close"), "\(hygiene.name)")
        #expect(client.seesEnd(), "\(hygiene.name)")
      }
      #expect(observed.now.requests.allSatisfy { $0 == "POST /echo" })
    }
  }

  @Test("an announced length over the route's limit is 413 before the content comes")
  func announced() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address)
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n")
      let answer = try client.answer()
      #expect(answer.status == 413)
      #expect(answer.has("Connection: close"))
      client.leave()
      // The same when the content is sent anyway: the answer is not lost with the connection.
      let sender = try RawClient(address)
      sender.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
      sender.send([UInt8](repeating: 0x61, count: 500_000))
      #expect(try sender.answer().status == 413)
    }
  }

  @Test("chunks over the route's limit are 413")
  func chunksOverLimit() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address)
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      let piece = "4000\r\n" + String(repeating: "a", count: 0x4000) + "\r\n"
      for _ in 0..<10 { client.send(piece) }
      let answer = try client.answer()
      #expect(answer.status == 413)
      #expect(answer.has("Connection: close"))
    }
  }

  @Test(
    "what a handler puts into names and values starts no field of its own",
    arguments: [
      "/inject-value", "/inject-nul", "/inject-name", "/status",
    ])
  func injection(_ path: String) async throws {
    try await withServer { address, observed, _ in
      let client = try RawClient(address)
      client.send(Hygiene.get(path))
      let answer = try client.answer()
      #expect(answer.status == 500)
      #expect(!answer.head.contains("Set-Cookie"))
      #expect(!answer.head.contains("Y: b"))
      #expect(observed.now.failures == 1)
      client.send(Hygiene.get("/hello"))
      #expect(try client.answer().text == "hello")
    }
  }

  @Test("framing fields are the server's own")
  func framing() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address)
      client.send(Hygiene.get("/framing"))
      let answer = try client.answer()
      #expect(answer.text == "ok")
      let lower = answer.head.lowercased()
      #expect(!lower.contains("gzip") && !lower.contains("never") && !lower.contains("connection"))
      #expect(lower.contains("content-length: 2\r\n") && lower.contains("\r\ndate: "))
    }
  }
}
