import Accounts
import BramleyTesting
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite("Sending events") struct EventSenderTests {
  static let secret = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32))

  static func endpoint(
    _ host: String, _ kinds: Set<OutgoingEvent.Kind> = Set(OutgoingEvent.Kind.allCases)
  ) throws -> Configuration.EventEndpoint {
    let secrets = try #require(WebhookSecret.list(secret))
    return .init(try #require(WebhookTarget("https://\(host)/hooks", secrets: secrets)), kinds: kinds)
  }

  /// A server with these endpoints, whose answers are as told.
  private func server(
    _ hosts: [String] = ["app.example"],
    answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
  ) async throws -> AccountServer {
    let endpoints = try hosts.map { try Self.endpoint($0) }
    return try await AccountServer({ $0.eventEndpoints = endpoints }, outside: answer)
  }

  @Test("an event arrives signed, with its id, and once")
  func delivery() async throws {
    let got = Recorder<HTTPRequest>()
    let server = try await server { request in
      got.append(request)
      return HTTPResponse(status: 204)
    }
    let session = try await server.signUp()
    await server.sendEvents()
    await server.sendEvents()
    let request = try #require(got.values.first)
    #expect(got.values.count == 1)
    let body = try await request.body.collect(upTo: 10_000)
    let data = try JSONReader.read(body)
    #expect(data["type"]?.string == "user.created")
    #expect(data["data"]?["user_id"]?.string == session.userID)
    let id = try #require(request.fields["webhook-id"])
    let time = try #require(request.fields["webhook-timestamp"].flatMap { Int64($0) })
    #expect(time == server.whole.clock.seconds)
    #expect(
      request.fields["webhook-signature"]
        == WebhookSecret(Self.secret)?.signature(id: id, timestamp: time, body: body))
    // Ids, and no token.
    let text = String(decoding: body, as: UTF8.self)
    #expect(!text.contains(session.accessToken) && !text.contains(session.refreshToken))
  }

  @Test(
    "everything but 2xx comes again later, with the same id and a new time",
    arguments: [100, 301, 302, 400, 401, 404, 429, 500, 503])
  func retries(status: Int) async throws {
    let got = Recorder<HTTPRequest>()
    let server = try await server { request in
      got.append(request)
      return HTTPResponse(status: got.values.count > 1 ? 200 : status)
    }
    _ = try await server.signUp()
    await server.sendEvents()
    await server.sendEvents()
    #expect(got.values.count == 1)
    server.whole.clock.advance(seconds: 6)
    await server.sendEvents()
    #expect(got.values.count == 2)
    #expect(Set(got.values.compactMap { $0.fields["webhook-id"] }).count == 1)
    #expect(Set(got.values.compactMap { $0.fields["webhook-timestamp"] }).count == 2)
    server.whole.clock.advance(seconds: 1_000_000)
    await server.sendEvents()
    #expect(got.values.count == 2)
  }

  @Test("an endpoint that is not there is tried over three days, then the operator is called")
  func dead() async throws {
    let got = Recorder<HTTPRequest>()
    let server = try await server { request in
      got.append(request)
      throw HTTPClientError.connect
    }
    _ = try await server.signUp()
    for _ in 0..<20 {
      await server.sendEvents()
      server.whole.clock.advance(seconds: 86_400)
    }
    #expect(got.values.count == 11)
    let outbox = SQLEventOutbox(server.whole.database)
    let dead = try await outbox.events(.dead, url: nil, before: nil, limit: 9)
    #expect(dead.map(\.outcome) == ["no connection"])
    #expect(server.whole.lines.values.contains { $0.contains("event_dead") })
    #expect(server.whole.server.metrics.text.contains(#"bramley_events_total{outcome="dead"} 1"#))
    #expect(try await outbox.replay(.dead(url: nil), now: server.whole.clock.now) == 1)
    await server.sendEvents()
    #expect(got.values.count == 12 && Set(got.values.compactMap { $0.fields["webhook-id"] }).count == 1)
  }

  @Test("Retry-After is heeded")
  func retryAfter() async throws {
    let got = Recorder<HTTPRequest>()
    let server = try await server { request in
      got.append(request)
      return HTTPResponse(status: 429, fields: ["Retry-After": "3600"])
    }
    _ = try await server.signUp()
    await server.sendEvents()
    server.whole.clock.advance(seconds: 3_500)
    await server.sendEvents()
    #expect(got.values.count == 1)
    server.whole.clock.advance(seconds: 100)
    await server.sendEvents()
    #expect(got.values.count == 2)
  }

  @Test("410 closes the endpoint until an operator replays")
  func gone() async throws {
    let got = Recorder<HTTPRequest>()
    let server = try await server { request in
      got.append(request)
      return HTTPResponse(status: 410)
    }
    _ = try await server.signUp()
    await server.sendEvents()
    _ = try await server.signUp()
    server.whole.clock.advance(seconds: 100_000)
    await server.sendEvents()
    #expect(got.values.count == 1)
    #expect(server.whole.lines.values.contains { $0.contains("event_endpoint_closed") })
    let outbox = SQLEventOutbox(server.whole.database)
    #expect(try await outbox.replay(.dead(url: nil), now: server.whole.clock.now) == 2)
    await server.sendEvents()
    #expect(got.values.count > 1)
  }

  @Test("one endpoint that hangs, and one that is down, keep nobody else waiting")
  func apart() async throws {
    let got = Recorder<String>()
    let server = try await server(["slow.example", "down.example", "good.example"]) { request in
      if request.authority == "slow.example" { try await Task.sleep(for: .seconds(60)) }
      if request.authority == "down.example" { throw HTTPClientError.timedOut(.connect) }
      got.append(request.authority)
      return HTTPResponse(status: 200)
    }
    for _ in 0..<20 { _ = try await server.signUp() }
    await withTaskGroup { group in
      for job in server.eventJobs { group.addTask { await job.run() } }
      while got.values.count < 20 { try? await Task.sleep(for: .milliseconds(5)) }
      group.cancelAll()
    }
    #expect(got.values.count == 20)
  }

  @Test("who is down is not asked for all that waits")
  func down() async throws {
    let got = Recorder<String>()
    let server = try await server { request in
      got.append(request.authority)
      throw HTTPClientError.connect
    }
    for _ in 0..<30 { _ = try await server.signUp() }
    await server.sendEvents()
    #expect(got.values.count == Int(EventSender.width))
  }

  @Test("RULES §6.3: no other host than the endpoint's is asked, and no redirect is followed")
  func hosts() async throws {
    let got = Recorder<String>()
    let server = try await server { request in
      got.append("\(request.scheme)://\(request.authority)\(request.target)")
      return HTTPResponse(status: 307, fields: ["Location": "http://169.254.169.254/"])
    }
    _ = try await server.signUp()
    await server.sendEvents()
    #expect(got.values == ["https://app.example/hooks"])
    let outbox = SQLEventOutbox(server.whole.database)
    #expect(
      try await outbox.events(nil, url: nil, before: nil, limit: 9).map(\.outcome)
        == ["redirected by HTTP 307"])
  }
}

extension AccountServer {
  var eventJobs: [Job] { whole.server.jobs.filter { $0.name == "send_events" } }

  func sendEvents() async {
    for job in eventJobs { await job.run() }
  }
}
