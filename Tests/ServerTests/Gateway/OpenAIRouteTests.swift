import Admission
import AppleSimulator
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages
import Testing

@testable import Server

@Suite("OpenAI's Chat Completions through the whole server")
struct OpenAIRouteTests {
  @Test("streamed and unstreamed say the same; the booked sum is what the provider billed")
  func sameAndExact() async throws {
    let scene = try await OpenAIServer()
    let phone = try await scene.server.phone()
    let whole = try await scene.ask(phone, "Where is Lyon?")
    #expect(whole.status == 200)
    let said = try await whole.json["choices"]?.elements?.first?["message"]?["content"]?.string
    let stream = try await scene.ask(phone, "Where is Lyon?", stream: true)
    let text = try await OpenAIServer.read(stream).text
    #expect(try OpenAIServer.words(text) == said && said?.contains("“Where is Lyon?”") == true)
    #expect(!text.contains("prompt_tokens") && text.hasSuffix("data: [DONE]\n\n"))
    let asked = try await scene.ask(
      phone, "x", stream: true, more: #","stream_options":{"include_usage":true}"#)
    #expect(try await OpenAIServer.read(asked).text.contains(#""prompt_tokens""#))
    for prompt in [
      "[simulate: tool]", "[simulate: tokens 5]", "[simulate: bytes 1] y", "[simulate: thinking] z",
    ] {
      _ = try await OpenAIServer.read(try await scene.ask(phone, prompt, stream: true))
    }
    let rows = try await scene.server.usage()
    #expect(
      rows.count == 7 && rows.allSatisfy { !$0.estimated && $0.provider == "openai" && $0.status == 200 })
    let billed = try scene.billed("gpt-4.1-mini")
    #expect(rows.map(\.cost).reduce(0, +) == billed)
    #expect(rows.allSatisfy { $0.route == OpenAIServer.target && $0.model == "gpt-4.1-mini" })
    #expect(scene.server.server.metrics.text.contains("route=\"\(OpenAIServer.target)\"} 7"))
  }

  @Test(
    "the provider gets the operator's key, the pseudonym and the policy; the app nothing of the operator's")
  func bothWays() async throws {
    let scene = try await OpenAIServer()
    let phone = try await scene.server.phone()
    var question = OpenAIServer.question("hi", more: #","user":"ann@example.com""#)
    question.fields["openai-organization"] = "org-stolen"
    let response = try await scene.server.send(try await phone.sign(question))
    for name in ["openai-organization", "openai-project", "set-cookie", "x-ratelimit-limit-tokens", "server"]
    {
      #expect(response.fields[name] == nil)
    }
    let sent = try #require(scene.server.upstreamRequests.values.first)
    #expect(
      sent.authority == "api.openai.com" && sent.scheme == "https" && sent.target == "/v1/chat/completions")
    #expect(sent.fields.values("authorization") == ["Bearer \(OpenAIServer.key)"])
    #expect(sent.fields["openai-organization"] == nil && sent.fields[AttestFields.assertion] == nil)
    let body = try JSONReader.read(try await sent.body.collect(upTo: 1 << 20))
    let name = try #require(body["safety_identifier"]?.string)
    #expect(name.utf8.count == 32 && body["user"]?.string == name && body["store"]?.bool == false)
    #expect(body["service_tier"]?.string == "default")
  }

  @Test(
    "the operator's faults are not the device's, and every error is in OpenAI's envelope",
    arguments: [
      ("error 401", 503, "upstream_failed"), ("error 403", 503, "upstream_failed"),
      ("no credit", 503, "upstream_failed"), ("error 404", 503, "upstream_failed"),
      ("error 429", 503, "upstream_busy"), ("error 503", 503, "upstream_busy"),
      ("error 500", 502, "upstream_failed"), ("redirect", 502, "upstream_failed"),
      ("gzip", 502, "upstream_failed"), ("error 400", 400, "upstream_refused"),
      ("error 504", 504, "upstream_timeout"),
    ])
  func mapping(_ instruction: String, _ status: Int, _ code: String) async throws {
    let scene = try await OpenAIServer()
    let phone = try await scene.server.phone()
    let response = try await scene.ask(phone, "[simulate: \(instruction)] [simulate: retry-after 9000]")
    #expect(response.status == status && response.fields["location"] == nil)
    let body = try await response.json
    #expect(body["error"]?["code"]?.string == code && body["error"]?["message"]?.string?.isEmpty == false)
    #expect(
      body["error"]?["type"]?.string == (status < 500 ? "invalid_request_error" : "server_error"))
    #expect(body["error"]?["param"]?.isNull == true)
    if code == "upstream_busy" { #expect(response.fields["retry-after"] == "60") }
    let rows = try await scene.server.usage()
    #expect(rows.count == 1 && rows.first?.status == status)
    let isOperators = ["error 401", "error 403", "no credit", "error 404", "redirect", "gzip"].contains(
      instruction)
    #expect(scene.server.lines.values.contains { $0.contains("\"event\":\"alarm\"") } == isOperators)
    let (booked, billed) = (rows.map(\.cost).reduce(0, +), try scene.billed("gpt-4.1-mini"))
    #expect(booked >= billed)
    #expect(scene.server.upstreamRequests.values.count == 1)
  }

  @Test(
    "a provider that misbehaves: the right answer or a cut one, never less charged than it billed",
    arguments: [
      "drop after 3", "no usage", "bytes 1", "error 500 after 2", "pace 1ms", "tokens 64",
      "no usage] [simulate: bytes 1",
      "tool] [simulate: drop after 1", "thinking] [simulate: drop after 1", "cache read 2", "cache write 3",
    ], ["gpt-4.1-mini", "gpt-6-luna"])
  func misbehaviour(_ instruction: String, _ model: String) async throws {
    for stream in [true, false] {
      let scene = try await OpenAIServer()
      let phone = try await scene.server.phone()
      let response = try await scene.ask(
        phone, "[simulate: \(instruction)] hello", model: model, stream: stream)
      let (text, whole) = try await OpenAIServer.read(response)
      #expect(whole == (!instruction.contains("drop") || response.status >= 400))
      #expect(!text.contains("prompt_tokens") || !stream)
      let row = try #require(try await scene.server.usage().first)
      let discount: Int64 = instruction.hasPrefix("cache read") ? 2 * 300_000 : 0
      let billed = try scene.billed(model) - discount
      #expect(row.cost >= billed, "\(row)")
      #expect(try await scene.server.remaining(phone, "money") == 1_000_000_000_000 - row.cost)
      #expect(scene.openAI.billing.openStreams == 0)
    }
  }

  @Test("RULES §5.2: a client that leaves pays for what was made, and the provider is told to stop")
  func leaves() async throws {
    for (model, prompt) in [
      ("gpt-4.1-mini", "[simulate: pace 1ms] [simulate: tokens 60]"), ("gpt-6-luna", "[simulate: thinking]"),
      ("gpt-4.1-mini", "[simulate: stall]"),
    ] {
      let scene = try await OpenAIServer()
      let phone = try await scene.server.phone()
      let response = try await scene.ask(phone, prompt, model: model, stream: true)
      guard case .stream(let body, _) = response.body.content else {
        Issue.record("no stream")
        return
      }
      for _ in 0..<2 { _ = try await body.next() }
      body.cancel()
      let row = try #require(try await scene.server.usage().first)
      let billed = try scene.billed(model)
      #expect(row.estimated && row.cost >= billed)
      #expect(scene.openAI.billing.abortedStreams == 1 && scene.openAI.billing.openStreams == 0)
    }
  }

  @Test("RULES §6.4: the key is in no answer and no log, even when the provider says it")
  func echo() async throws {
    let scene = try await OpenAIServer()
    let phone = try await scene.server.phone()
    for (prompt, stream) in [
      ("[simulate: echo key]", true), ("[simulate: echo key] [simulate: bytes 1]", true),
      ("[simulate: echo key]", false), ("[simulate: echo key] [simulate: error 400]", false),
      ("[simulate: echo key] [simulate: error 401]", false),
      ("[simulate: echo key] [simulate: error 500] [simulate: page]", false),
    ] {
      let response = try await scene.ask(phone, prompt, stream: stream)
      let seen = "\(response.fields)" + (try await OpenAIServer.read(response).text)
      #expect(!seen.contains(OpenAIServer.key) && !seen.contains(OpenAIServer.key.dropFirst(8)))
    }
    await scene.server.background.drain()
    #expect(!scene.server.lines.values.joined().contains(OpenAIServer.key))
  }

  @Test("hostile bodies: clear errors, nothing sent, nothing charged")
  func hostile() async throws {
    let scene = try await OpenAIServer()
    let phone = try await scene.server.phone()
    let open = #"{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"#
    let bodies: [(String, Int)] = [
      ("{\"a\":" + String(repeating: "[", count: 50_000), 400),
      (open + #""x"}],"max_tokens":1,"max_tokens":9}"#, 400),
      (open + #""x"}],"max_\u0074okens":1,"max_tokens":9}"#, 400),
      (open + #""x"}],"max_tokens":1e400}"#, 400),
      (open + #""x"}],"n":99999999999999999999}"#, 400), (open + "\"\u{0}\"}]}", 400), ("", 400),
      ("null", 400),
      (open + #""x"}],"web_search_options":{}}"#, 400), (open + #""x"}],"store":true}"#, 400),
      (open + "\"" + String(repeating: "x", count: 3 << 20) + "\"}]}", 413),
    ]
    for (body, status) in bodies {
      let response = try await scene.server.send(try await phone.sign(OpenAIServer.request(body)))
      let error = try await response.json["error"]
      #expect(response.status == status && error?["message"]?.string?.isEmpty == false, "\(body.prefix(80))")
      #expect(response.fields["x-should-retry"] == "false" || status == 413)
    }
    var binary = OpenAIServer.request("")
    binary.body = HTTPBody(Array((open + "\"").utf8) + [0xFF, 0xFE] + Array("\"}]}".utf8))
    #expect(try await scene.server.send(try await phone.sign(binary)).status == 400)
    #expect(scene.server.upstreamRequests.values.isEmpty)
    #expect(try await scene.server.usage().isEmpty)
    #expect(try await scene.server.remaining(phone, "money") == 1_000_000_000_000)
    #expect(try await scene.server.remaining(phone, "daily") == 100)
  }

  @Test("a session token bought once opens this provider too; the quota ends in OpenAI's envelope")
  func tokenAndQuota() async throws {
    let scene = try await OpenAIServer { $0.quotas = [.init(name: "daily", subject: .key, limit: 2)] }
    let phone = try await scene.server.phone()
    let token = try #require(try await phone.token().json["token"]?.string)
    var question = OpenAIServer.question("hi")
    question.fields["authorization"] = "Bearer \(token)"
    for _ in 0..<2 { #expect(try await scene.server.send(question).status == 200) }
    let refused = try await scene.server.send(question)
    #expect(refused.status == 429 && refused.fields["x-should-retry"] == "false")
    let error = try await refused.json["error"]
    #expect(error?["type"]?.string == "rate_limit_error" && error?["code"]?.string == "quota_exceeded")
    let bodies = try await scene.server.upstreamRequests.values.asyncBodies()
    #expect(Set(bodies.map { $0["safety_identifier"]?.string }).count == 1 && bodies.count == 2)
    question.fields["authorization"] = "Bearer bat_unknown"
    let unknown = try await scene.server.send(question)
    #expect(unknown.status == 401)
    #expect(try await unknown.json["error"]?["code"]?.string == "invalid_session")
  }

  @Test("a stream whose length the provider said is as long as what is left of it")
  func saidLength() async throws {
    let usage = #"data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#
    let server = try await WholeServer({
      var provider = Configuration.OpenAI(apiKey: Secret(OpenAIServer.key))
      provider.models = ["gpt-4.1-mini"]
      $0.openAI = provider
    }) { _ in
      HTTPResponse(
        status: 200, fields: ["content-type": "text/event-stream"],
        body: HTTPBody("data: {\"choices\":[]}\n\n\(usage)\n\ndata: [DONE]\n\n"))
    }
    let phone = try await server.phone()
    let response = try await server.send(try await phone.sign(OpenAIServer.question("x", stream: true)))
    let said = response.body.length
    let (text, whole) = try await OpenAIServer.read(response)
    #expect(whole && text == "data: {\"choices\":[]}\n\ndata: [DONE]\n\n")
    #expect(said == nil || said == text.utf8.count)
    #expect(try await server.usage().first?.cost == 3 * 400_000 + 2 * 1_600_000)
  }

  @Test("one provider's failures close that provider alone")
  func health() async throws {
    let scene = try await OpenAIServer()
    let configuration = scene.server.server.configuration
    let openAI = try #require(configuration.openAI)
    let anthropic = try #require(configuration.anthropic)
    let targets = try #require(ProviderTarget(openAI))
    let other = try #require(ProviderTarget(anthropic))
    for key in UInt8(0)..<5 { await targets.health.answered(503, keyID: [key], now: 1_000) }
    #expect(await targets.health.admit(now: 1_001) != .allowed)
    #expect(await other.health.admit(now: 1_001) == .allowed)
  }
}

extension [HTTPRequest] {
  /// The bodies as JSON.
  fileprivate func asyncBodies() async throws -> [JSONNode] {
    var out: [JSONNode] = []
    for request in self { out.append(try JSONReader.read(try await request.body.collect(upTo: 1 << 20))) }
    return out
  }
}
