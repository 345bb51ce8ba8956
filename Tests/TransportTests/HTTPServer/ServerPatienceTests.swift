import HTTPMessages
import System
import Testing

@testable import Transport

@Suite("Server: time, leaving and stopping", .serialized)
struct ServerPatienceTests {
  private func isEmpty(_ server: HTTPServer) async -> Bool {
    let end = MonotonicTime.now + .seconds(1)
    while await server.connectionCount > 0 {
      if MonotonicTime.now > end { return false }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return true
  }

  @Test("a head that comes too slowly is 408, however busily it drips")
  func slowHead() async throws {
    try await withServer(configure: { $0.headTimeout = .milliseconds(200) }) { address, observed, _ in
      let client = try RawClient(address)
      let start = MonotonicTime.now
      for octet in Hygiene.field("A: " + String(repeating: "b", count: 200)).utf8 {
        guard client.send([octet]), MonotonicTime.now - start < .seconds(2) else { break }
        try await Task.sleep(for: .milliseconds(20))
        if MonotonicTime.now - start > .milliseconds(350) { break }
      }
      #expect(try client.answer().status == 408)
      #expect(client.seesEnd())
      #expect(observed.now.requests.isEmpty)
    }
  }

  @Test("content that comes below the least rate is 408")
  func slowContent() async throws {
    try await withServer(configure: {
      $0.bodyTimeout = .milliseconds(200)
      $0.bodyRate = 10_000
    }) { address, _, _ in
      let client = try RawClient(address)
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
      let start = MonotonicTime.now
      while MonotonicTime.now - start < .milliseconds(400) {
        client.send("x")
        try await Task.sleep(for: .milliseconds(20))
      }
      let answer = try client.answer()
      #expect(answer.status == 408)
      #expect(answer.has("Connection: close"))
      // One that keeps the rate may take longer than the grace.
      let steady = try RawClient(address)
      steady.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n")
      for _ in 0..<10 {
        steady.send([UInt8](repeating: 0x61, count: 1_000))
        try await Task.sleep(for: .milliseconds(40))
      }
      #expect(try steady.answer().content.count == 10_000)
    }
  }

  @Test("who sends much at once and then stops is not waited for any longer")
  func stalledContent() async throws {
    try await withServer(configure: {
      $0.bodyTimeout = .milliseconds(100)
      $0.bodyRate = 1_000
    }) { address, _, _ in
      let client = try RawClient(address)
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
      client.send([UInt8](repeating: 0x61, count: 50_000))
      let start = MonotonicTime.now
      #expect(try client.answer().status == 408)
      #expect(MonotonicTime.now - start < .seconds(5))
    }
  }

  @Test("an idle connection is closed without a word")
  func idle() async throws {
    try await withServer(configure: { $0.idleTimeout = .milliseconds(150) }) { address, _, _ in
      let fresh = try RawClient(address)
      let used = try RawClient(address)
      used.send(Hygiene.get("/hello"))
      #expect(try used.answer().text == "hello")
      #expect(fresh.seesEnd())
      #expect(used.seesEnd())
    }
  }

  @Test("a peer that takes nothing is cut, and the source is told")
  func stalledReader() async throws {
    try await withServer(configure: { $0.writeTimeout = .milliseconds(200) }) { address, observed, server in
      let client = try RawClient(address, receiveBuffer: 4_096)
      client.send(Hygiene.get("/large"))
      #expect(await observed.becomes { $0.cancelledStreams == 1 })
      #expect(await isEmpty(server))
      client.leave()
    }
  }

  @Test("a slow reader slows the source")
  func slowReader() async throws {
    try await withServer { address, observed, _ in
      let client = try RawClient(address, receiveBuffer: 4_096)
      client.send(Hygiene.get("/large"))
      #expect(client.read(100).count == 100)
      try await Task.sleep(for: .milliseconds(200))
      let pulls = observed.now.pulls
      // What the kernel holds for the peer, not the six gigabytes of the source.
      #expect(pulls < 60)
      try await Task.sleep(for: .milliseconds(200))
      #expect(observed.now.pulls == pulls)
      #expect(client.read(4_000_000).count == 4_000_000)
      #expect(await observed.becomes { $0.pulls > pulls })
      client.leave()
      #expect(await observed.becomes(within: .seconds(1)) { $0.cancelledStreams == 1 })
    }
  }

  @Test("a client that leaves cancels the handler within a second", arguments: [true, false])
  func leavesBefore(_ politely: Bool) async throws {
    try await withServer { address, observed, server in
      let client = try RawClient(address)
      client.send(Hygiene.get("/wait"))
      #expect(await observed.becomes { $0.requests.count == 1 })
      if politely { client.leave() } else { client.reset() }
      #expect(await observed.becomes(within: .seconds(1)) { $0.cancelledHandlers == 1 })
      #expect(await isEmpty(server))
    }
  }

  @Test("a client that leaves while it still owes content cancels the handler")
  func leavesInContent() async throws {
    try await withServer { address, observed, server in
      let client = try RawClient(address)
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
      #expect(await observed.becomes { $0.requests.count == 1 })
      client.leave()
      #expect(await isEmpty(server))
    }
  }

  @Test("200 clients that leave silent streams cancel all 200 within a second")
  func leavesStreams() async throws {
    try await withServer(loops: 2) { address, observed, _ in
      let clients = try (0..<200).map { _ in try RawClient(address) }
      for client in clients {
        client.send(Hygiene.get("/silent"))
        // The head and the first piece come at once, though the source is silent after it.
        #expect(client.read(90).count == 90)
      }
      #expect(await observed.becomes { $0.open == 200 && $0.pulls == 400 })
      for client in clients { client.leave() }
      #expect(await observed.becomes(within: .seconds(1)) { $0.cancelledStreams == 200 })
    }
  }

  @Test("head and pieces leave at once")
  func promptly() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address, timeout: 1)
      client.send(Hygiene.get("/silent"))
      let text = String(decoding: client.read(1_000), as: UTF8.self)
      #expect(text.hasSuffix("\r\n\r\n5\r\naaaaa\r\n"))
    }
  }

  @Test("a head leaves together with a piece that is at hand, and without one when the source breaks at once")
  func together() async throws {
    try await withServer { address, _, _ in
      let client = try RawClient(address, timeout: 1)
      client.send(Hygiene.get("/silent"))
      #expect(String(decoding: client.readOnce(), as: UTF8.self).hasSuffix("\r\n\r\n5\r\naaaaa\r\n"))
      let other = try RawClient(address, timeout: 1)
      other.send(Hygiene.get("/broken-at-once"))
      let text = String(decoding: try #require(other.readToEnd()), as: UTF8.self)
      #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
      #expect(text.hasSuffix("\r\n\r\n"))
    }
  }

  @Test("a stop lets answers end, closes idle connections and takes no new one")
  func stops() async throws {
    try await withServer { address, observed, server in
      let idle = try RawClient(address)
      idle.send(Hygiene.get("/hello"))
      #expect(try idle.answer().text == "hello")
      let busy = try RawClient(address)
      busy.send(Hygiene.get("/slow"))
      #expect(await observed.becomes { $0.requests.count == 2 })
      let start = MonotonicTime.now
      let other = try EventLoop()
      defer { other.stop() }
      let stopped = other.run { await server.shutdown(within: .seconds(5)) }
      #expect(idle.seesEnd())
      #expect(observed.now.requests.count == 2)
      #expect(throws: RawClient.Failure.self) { try RawClient(address) }
      let answer = try busy.answer()
      #expect(answer.text == "late")
      #expect(answer.has("Connection: close"))
      #expect(busy.seesEnd())
      await stopped.value
      #expect(MonotonicTime.now - start < .seconds(2))
    }
  }

  @Test("a stop cuts what does not end in time")
  func stopsHard() async throws {
    try await withServer { address, observed, server in
      let client = try RawClient(address)
      client.send(Hygiene.get("/silent"))
      let waiting = try RawClient(address)
      waiting.send(Hygiene.get("/wait"))
      #expect(await observed.becomes { $0.pulls == 2 && $0.requests.count == 2 })
      let start = MonotonicTime.now
      await server.shutdown(within: .milliseconds(100))
      #expect(MonotonicTime.now - start < .milliseconds(900))
      #expect(observed.now.cancelledStreams == 1)
      #expect(observed.now.cancelledHandlers == 1)
    }
  }

  @Test("a connection over the limit waits until another ends")
  func limit() async throws {
    try await withServer(configure: { $0.connectionLimit = 2 }) { address, _, _ in
      var clients = try (0..<3).map { _ in try RawClient(address, timeout: 1) }
      for client in clients { client.send(Hygiene.get("/hello")) }
      #expect(try clients[0].answer().text == "hello")
      #expect(try clients[1].answer().text == "hello")
      #expect(throws: RawClient.Failure.self) { try clients[2].answer() }
      clients.removeFirst().leave()
      #expect(try clients[1].answer().text == "hello")
    }
  }
}
