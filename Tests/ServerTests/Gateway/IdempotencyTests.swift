import Admission
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import Synchronization
import Testing

@testable import Server

@Suite("Requests with an Idempotency-Key")
struct IdempotencyTests {
  private static let key = "8e03978e-40d5-43dd-bc93-6894a57f9324"
  private static let start =
    #"data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}"# + "\n\n"
    + #"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"apple"}}"#
    + "\n\n"
  private static let end =
    #"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}"#
    + "\n\n" + #"data: {"type":"message_stop"}"# + "\n\n"

  private func tapped(
    _ tap: Tap, sharing other: WholeServer? = nil, patience: Duration = .seconds(30)
  ) async throws -> WholeServer {
    try await WholeServer(
      upstream: { _ in
        HTTPResponse(
          status: 200, fields: ["content-type": "text/event-stream"], body: HTTPBody(stream: tap))
      }, sleep: { try await Task.sleep(for: $0 == Idempotency.patience ? patience : .milliseconds(5)) },
      sharing: other)
  }

  private func ask(
    _ phone: Phone, at server: WholeServer? = nil, _ text: String = "hello", key: String = key,
    stream: Bool = true
  ) async throws -> HTTPResponse {
    var request = Phone.question(text, stream: stream)
    request.fields["idempotency-key"] = key
    return try await (server ?? phone.server).send(try await phone.sign(request))
  }

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

  @Test("RULES §5.8: a second request attaches to the running first, and reads from the beginning")
  func attached() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    let first = try await ask(phone)
    let second = try await ask(phone)
    #expect(second.fields["idempotency-replayed"] == "true")
    tap.give(Self.end)
    tap.end()
    #expect(try await second.text == Self.start + Self.end)
    #expect(try await first.text == Self.start + Self.end)
    #expect(server.upstreamRequests.values.count == 1)
    #expect(try await server.usage().count == 1)
  }

  @Test("RULES §5.8: with a key a lost client cancels nothing: the answer is there when it comes back")
  func lost() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    try await ask(phone).leaveAfterFirstPiece()
    try await Task.sleep(for: .milliseconds(20))
    #expect(!tap.isCancelled)
    tap.give(Self.end)
    tap.end()
    await server.background.drain()
    let rows = try await server.usage()
    #expect(rows.count == 1 && rows[0].outputTokens == 12 && !rows[0].estimated)
    #expect(try await ask(phone).text == Self.start + Self.end)
    #expect(server.upstreamRequests.values.count == 1)
  }

  @Test("RULES §5.8: without a key a lost client cancels")
  func withoutKey() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    try await phone.ask(stream: true).leaveAfterFirstPiece()
    #expect(try await server.usage().first?.estimated == true)
    #expect(tap.isCancelled)
  }

  @Test("RULES §5.8: what nobody waits for is given up in time, booked, and incomplete for a repeat")
  func abandoned() async throws {
    let tap = Tap()
    let server = try await tapped(tap, patience: .milliseconds(30))
    let phone = try await server.phone()
    tap.give(Self.start)
    try await ask(phone).leaveAfterFirstPiece()
    let rows = try await server.usage()
    #expect(tap.isCancelled && rows.count == 1 && rows[0].estimated && rows[0].cost > 0)
    #expect(try await Outcome(ask(phone)) == Outcome(422, "idempotency_incomplete"))
    #expect(server.upstreamRequests.values.count == 1)
  }

  @Test("RULES §5.8: an answer above 1 MiB passes whole to whoever reads it, and is not kept")
  func long() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    let piece = ": " + String(repeating: "x", count: 99_998) + "\n\n"
    for _ in 0..<25 { tap.give(piece) }
    tap.give(Self.end)
    tap.end()
    let response = try await ask(phone)
    #expect(try await response.text.utf8.count == Self.start.utf8.count + 25 * 100_002 + Self.end.utf8.count)
    await server.background.drain()
    #expect(try await server.usage().first?.estimated == false)
    #expect(try await Outcome(ask(phone)) == Outcome(422, "idempotency_incomplete"))
  }

  @Test("RULES §5.8: a long answer that nobody reads is given up at 1 MiB")
  func longAlone() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    tap.give(Self.start)
    try await ask(phone).leaveAfterFirstPiece()
    for _ in 0..<12 { tap.give(": " + String(repeating: "x", count: 99_998) + "\n\n") }
    #expect(try await server.usage().count == 1)
    #expect(tap.isCancelled)
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

  @Test("RULES §5.8: 20 repeats at once are one call of the provider")
  func race() async throws {
    let tap = Tap()
    let server = try await tapped(tap)
    let phone = try await server.phone()
    let answers = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await ask(phone).text } }
      tap.give(Self.start)
      try await Task.sleep(for: .milliseconds(50))
      tap.give(Self.end)
      tap.end()
      return try await group.reduce(into: [String]()) { $0.append($1) }
    }
    #expect(answers == Array(repeating: Self.start + Self.end, count: 20))
    #expect(server.upstreamRequests.values.count == 1)
    #expect(try await server.remaining(phone, "daily") == 99)
  }

  @Test("RULES §5.8: a repeat at another node waits for the first, and gets its answer")
  func nodes() async throws {
    let tap = Tap()
    let one = try await tapped(tap)
    let two = try await tapped(tap, sharing: one)
    let phone = try await one.phone()
    tap.give(Self.start)
    let first = try await ask(phone)
    async let second = ask(phone, at: two)
    try await Task.sleep(for: .milliseconds(30))
    tap.give(Self.end)
    tap.end()
    #expect(try await first.text == Self.start + Self.end)
    let repeated = try await second
    #expect(repeated.fields["idempotency-replayed"] == "true")
    #expect(try await repeated.text == Self.start + Self.end)
    #expect(two.upstreamRequests.values.isEmpty)
  }

  @Test("RULES §5.8: a node that died amid a call leaves 422, and no second charge")
  func killed() async throws {
    let tap = Tap()
    let one = try await tapped(tap)
    let two = try await tapped(tap, sharing: one)
    let phone = try await one.phone()
    tap.give(Self.start)
    _ = try await ask(phone)
    // The other node hears nothing of it any more, and no lease is renewed.
    one.clock.advance(milliseconds: Idempotency.lease)
    #expect(try await Outcome(ask(phone, at: two)) == Outcome(422, "idempotency_incomplete"))
    #expect(two.upstreamRequests.values.isEmpty)
    tap.end()
    await one.background.drain()
  }

  @Test("the database holds no octet of an answer that is kept, nor of its key")
  func sealed() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    _ = try await ask(phone, stream: false).text
    await server.background.drain()
    let row = try await server.database.read { transaction in
      try transaction.first("select id, body_hash, sealed from kept_answers") {
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
