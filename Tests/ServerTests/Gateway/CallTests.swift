import Admission
import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyClient
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct CallTests {
  @Test("the SDK registers, asks and streams, and the quota counts down")
  func endToEnd() async throws {
    let server = try await WholeServer()
    let client = try server.client()
    // The SDK stops reading at the last event: the call ends when its answer is dropped.
    func ask(_ question: String, _ evidence: BramleyClient.Evidence) async throws -> (String?, String) {
      let stream = try await client.ask(question, model: "fast", with: evidence)
      return (stream.fields["ratelimit"], try await stream.text())
    }
    let first = try await ask("hello", .assertion)
    #expect(first.0?.hasPrefix("\"daily\";r=99") == true && !first.1.isEmpty)
    let second = try await ask("hello again", .session)
    #expect(second.0?.hasPrefix("\"daily\";r=98") == true && !second.1.isEmpty)
    let rows = try await server.usage()
    #expect(rows.count == 2)
    #expect(rows.allSatisfy { $0.status == 200 && !$0.estimated && $0.cost > 0 && $0.firstByte != nil })
    #expect(rows.allSatisfy { $0.route == Phone.messages && $0.provider == "anthropic" })
    #expect(rows.allSatisfy { $0.model == "claude-haiku-4-5" })
    #expect(rows.map(\.outputTokens).reduce(0, +) == Int64(server.anthropic.billing.outputTokens))
    #expect(rows.map(\.inputTokens).reduce(0, +) == Int64(server.anthropic.billing.inputTokens))
  }

  @Test("the bytes of the answer pass as they came")
  func verbatim() async throws {
    let expected = "event: ping\r\ndata: {\"type\": \"ping\"}\r\n\r\n: comment\n\ndata:x\n\n"
    let server = try await WholeServer(upstream: { _ in
      HTTPResponse(
        status: 200,
        fields: [
          "content-type": "text/event-stream", "request-id": "req_1",
          "anthropic-organization-id": "org-secret",
          "anthropic-ratelimit-requests-remaining": "3", "set-cookie": "a=b",
        ], body: HTTPBody(expected))
    })
    let response = try await server.phone().ask(stream: true)
    #expect(response.fields["request-id"] == "req_1")
    #expect(response.fields["content-type"] == "text/event-stream")
    #expect(response.fields["cache-control"]?.contains("no-transform") == true)
    for line in response.fields.lines {
      #expect(!line.name.hasPrefix("anthropic-") && line.name != "set-cookie")
    }
    #expect(try await response.text == expected)
  }

  @Test("an answer that is not streamed and a token count")
  func unstreamed() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let response = try await phone.ask()
    #expect(try await response.json["content"]?.elements?.first?["text"]?.string?.isEmpty == false)
    let count = Phone.question(target: "/ai/anthropic/v1/messages/count_tokens")
    let asked = try JSONReader.read(try await count.body.collect(upTo: 1000))
    var request = count
    let members = (asked.members ?? []).filter { $0.name != "max_tokens" && $0.name != "stream" }
    request.body = HTTPBody(JSONValue.object(members.map { ($0.name, $0.value.value) }).bytes)
    let counted = try await server.send(try await phone.sign(request))
    let body = try await counted.json
    #expect(body["input_tokens"]?.integer ?? 0 > 0)
    #expect(try await server.remaining(phone, "daily") == 99, "RULES §5.4: a count costs burst alone")
  }

  @Test("what a policy refuses never reaches the provider, and says why in the provider's envelope")
  func refused() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for (request, status) in [
      (Phone.question(model: "claude-opus-5"), 400), (Phone.question(target: Phone.messages + "?x=1"), 400),
      (Phone.question().with("anthropic-version", "2000-01-01"), 400),
      (Phone.question().with("anthropic-beta", "skills-2025-10-02"), 400),
      (Phone.question().with(body: "{\"model\":\"fast\",\"model\":\"claude-haiku-4-5\"}"), 400),
      (Phone.question().with(body: "no json"), 400),
      (Phone.question().with("content-type", "text/plain"), 415),
    ] {
      let response = try await server.send(try await phone.sign(request))
      #expect(response.status == status)
      #expect(response.fields["x-should-retry"] == "false")
      let body = try await response.json
      #expect(body["type"]?.string == "error")
      #expect(body["error"]?["message"]?.string?.isEmpty == false)
    }
    let large = Phone.question().with(body: String(repeating: "x", count: 3 << 20))
    let response = try await server.send(try await phone.sign(large))
    #expect(try await Outcome(response) == Outcome(413, "body_too_large"))
    #expect(server.upstreamRequests.values.isEmpty)
    #expect(try await server.remaining(phone, "daily") == 100)
  }

  @Test("max_tokens is lowered, the device has a pseudonym, the client's credentials stay behind")
  func outgoing() async throws {
    let server = try await WholeServer { $0.anthropic?.maxTokens = 16 }
    let phone = try await server.phone()
    _ = try await server.send(try await phone.sign(Phone.question(maxTokens: 4000).with("cookie", "a=b")))
    let token = try #require(SessionAnswer(body: try await phone.token().body.collect(upTo: 1000))?.token)
    _ = try await server.send(Phone.question().with("x-api-key", token))
    let sent = server.upstreamRequests.values
    #expect(sent.count == 2)
    var pseudonyms: Set<String> = []
    for request in sent {
      #expect(request.authority == "api.anthropic.com" && request.scheme == "https")
      #expect(request.target == "/v1/messages")
      #expect(request.fields["cookie"] == nil && request.fields["authorization"] == nil)
      #expect(request.fields.lines.allSatisfy { !$0.name.hasPrefix("x-attest") })
      let body = try JSONReader.read(try await request.body.collect(upTo: 100_000))
      #expect(body["max_tokens"]?.integer ?? 99 <= 16 || body["max_tokens"]?.integer == 64)
      pseudonyms.insert(body["metadata"]?["user_id"]?.string ?? "none")
    }
    #expect(pseudonyms.count == 1, "one device is one device, with either evidence")
    #expect(pseudonyms.first?.utf8.count == 32)
    #expect(!pseudonyms.contains(Hex.encode(phone.key.prefix(16))))
  }

  @Test("RULES §5.5: a ledger that does not answer lets nobody in")
  func brokenLedger() async throws {
    let whole = try await WholeServer()
    let phone = try await whole.phone()
    let server = try await WholeServer(broken: true, sharing: whole)
    let response = try await server.send(try await phone.sign(Phone.question()))
    #expect(response.fields["retry-after"] != nil)
    #expect(try await Outcome(response) == Outcome(503, "unavailable"))
    #expect(server.upstreamRequests.values.isEmpty)
    #expect(server.lines.values.contains { $0.contains("\"level\":\"error\"") && $0.contains("storage") })
    #expect(server.server.metrics.text.contains(#"bramley_alarms_total{alarm="storage"} 1"#))
    // Registrations are counted there as well.
    let newcomer = try await Phone(server)
    #expect(try await newcomer.register().status == 503)
    #expect(try await server.keys.key(newcomer.key) == nil)
  }
}

extension HTTPRequest {
  func with(_ name: String, _ value: String) -> HTTPRequest {
    var request = self
    request.fields[name] = value
    return request
  }

  func with(body: String) -> HTTPRequest {
    var request = self
    request.body = HTTPBody(body)
    return request
  }
}
