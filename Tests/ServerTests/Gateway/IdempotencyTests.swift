import Admission
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import Synchronization
import Testing

@testable import Server

@Suite("Requests with an Idempotency-Key")
struct IdempotencyTests: IdempotentAsking {
  @Test("RULES §5.8: a repeat gets the same answer, and costs evidence and burst, not quota")
  func repeated() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let first = try await ask(phone)
    let answer = try await first.text
    #expect(first.status == 200 && first.fields["idempotency-replayed"] == nil)
    await server.background.drain()
    let second = try await ask(phone, key: "\"\(Self.key)\"")
    #expect(second.fields["idempotency-replayed"] == "true")
    #expect(second.fields["content-type"] == first.fields["content-type"])
    #expect(try await second.text == answer)
    #expect(server.upstreamRequests.values.count == 1)
    #expect(try await server.usage().count == 1)
    #expect(try await server.remaining(phone, "daily") == 99)
    let other = try await ask(phone, key: Self.key + "-2")
    #expect(try await !other.text.isEmpty && server.upstreamRequests.values.count == 2)
  }

  @Test("RULES §5.8: a replayed request is refused before its answer is shown")
  func replayed() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    var request = Phone.question(stream: true)
    request.fields["idempotency-key"] = Self.key
    let signed = try await phone.sign(request)
    _ = try await server.send(signed).text
    await server.background.drain()
    #expect(try await Outcome(server.send(signed)) == Outcome(401, "counter_replayed"))
    request.fields["x-attest-key-id"] = nil
    #expect(try await Outcome(server.send(request)) == Outcome(401, "attestation_required"))
  }

  @Test("RULES §5.8: another body, another target and another device are other requests")
  func scope() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await ask(phone).text
    await server.background.drain()
    #expect(try await Outcome(ask(phone, "another")) == Outcome(422, "idempotency_mismatch"))
    let stranger = try await server.phone()
    let theirs = try await ask(stranger)
    #expect(theirs.status == 200 && theirs.fields["idempotency-replayed"] == nil)
    _ = try await theirs.text
    var count = Phone.question(target: "/ai/anthropic/v1/messages/count_tokens")
    count.fields["idempotency-key"] = Self.key
    let counted = try await server.send(try await phone.sign(count))
    #expect(counted.status == 400, "it reached the policy: max_tokens is no field of a count")
    #expect(server.upstreamRequests.values.count == 2)
  }

  @Test(
    "a key that could be another's is refused",
    arguments: ["short", "", "with blank with blank", "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""]
  )
  func badKey(_ key: String) async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    #expect(try await Outcome(ask(phone, key: key)) == Outcome(400, "invalid_request"))
    #expect(server.upstreamRequests.values.isEmpty)
  }

  @Test("what cost nothing is a new request when it comes again")
  func unbilled() async throws {
    let isDown = Atomic<Bool>(true)
    let server = try await WholeServer(upstream: { _ in
      if isDown.load(ordering: .relaxed) { throw HTTPClientError.connect }
      return HTTPResponse(
        status: 200, fields: ["content-type": "text/event-stream"], body: HTTPBody(Self.start + Self.end))
    })
    let phone = try await server.phone()
    #expect(try await ask(phone).status >= 500)
    await server.background.drain()
    isDown.store(false, ordering: .relaxed)
    #expect(try await ask(phone).text == Self.start + Self.end)
  }

  @Test("a request that a quota refused is a new one when there is room again")
  func refused() async throws {
    let server = try await WholeServer {
      $0.quotas = [.init(name: "daily", subject: .key, limit: 1)]
    }
    let phone = try await server.phone()
    _ = try await phone.ask().text
    #expect(try await Outcome(ask(phone)) == Outcome(429, "quota_exceeded"))
    server.clock.advance(seconds: 86_400)
    let next = try await ask(phone)
    #expect(next.status == 200 && next.fields["idempotency-replayed"] == nil)
  }

  @Test("the database holds no octet of an answer that is kept, nor of its key")
  func sealed() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await ask(phone, stream: false).text
    await server.background.drain()
    let row = try await server.database.read { transaction in
      try await transaction.first("select id, body_hash, sealed from kept_answers") {
        $0.bytes(0) + $0.bytes(1) + $0.bytes(2)
      }
    }
    let text = String(decoding: try #require(row), as: UTF8.self)
    #expect(!text.contains("message") && !text.contains("content-type") && !text.contains(Self.key))
  }

  @Test("a session token's repeats are its key's, whichever token they come with")
  func session() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    func ask(_ token: String) async throws -> HTTPResponse {
      var request = Phone.question(stream: true)
      request.fields["idempotency-key"] = Self.key
      request.fields["x-api-key"] = token
      return try await server.send(request)
    }
    let first = try await phone.token().json["token"]?.string ?? ""
    let second = try await phone.token().json["token"]?.string ?? ""
    let answer = try await ask(first).text
    await server.background.drain()
    let repeated = try await ask(second)
    #expect(repeated.fields["idempotency-replayed"] == "true")
    #expect(try await repeated.text == answer)
    #expect(server.upstreamRequests.values.count == 1)
  }
}
