import AppleSimulator
import BramleyAPI
import BramleyClient
import HTTPMessages
import Testing

@Suite("Answers as the client reads them")
struct MessageStreamTests {
  /// Puts the operator's key where the gateway would.
  struct Gateway: HTTPHandler {
    let anthropic = SimulatedAnthropic(
      apiKey: "operator", now: { 0 }, sleep: { try await Task.sleep(for: $0) })
    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
      var request = request
      request.target = "/v1/messages"
      request.fields["x-api-key"] = "operator"
      return try await anthropic.respond(to: request)
    }
  }

  let gateway = Gateway()

  @Test(
    "text comes piece by piece, usage is the provider's last word", arguments: ["", " [simulate: bytes 1]"])
  func text(instruction: String) async throws {
    let bench = try Bench(upstream: gateway)
    let answer = try await bench.client.ask("hello" + instruction, model: "claude-haiku-4-5")
    var pieces: [String] = []
    var usage: MessageStream.Event?
    var last: MessageStream.Event?
    for try await event in answer {
      if case .text(let piece) = event { pieces.append(piece) }
      if case .usage = event { usage = event }
      last = event
    }
    #expect(pieces.count > 10)
    #expect(pieces.joined().contains("“hello”"))
    let billing = gateway.anthropic.billing
    #expect(
      usage
        == .usage(inputTokens: Int64(billing.inputTokens), outputTokens: Int64(billing.outputTokens)))
    #expect(last == usage || last == .stopped(reason: "end_turn"))
    #expect(answer.fields["content-type"]?.hasPrefix("text/event-stream") == true)
  }

  @Test("a conversation goes by either evidence")
  func conversation() async throws {
    let bench = try Bench(upstream: gateway)
    let turns = [
      ConversationTurn(.user, "one"), ConversationTurn(.assistant, "two"), ConversationTurn(.user, "three"),
    ]
    for evidence in [BramleyClient.Evidence.assertion, .session] {
      let answer = try await bench.client.ask(
        turns, model: "claude-haiku-4-5", system: "Be brief.", with: evidence)
      #expect(try await answer.text().contains("Turn 2"))
    }
  }

  @Test("an error before the answer is thrown by ask, one inside it by the stream")
  func errors() async throws {
    let bench = try Bench(upstream: gateway)
    await #expect {
      _ = try await bench.client.ask(
        "x [simulate: error 529] [simulate: retry-after 3]", model: "claude-haiku-4-5")
    } throws: { error in
      (error as? BramleyError)?.status == 529 && (error as? BramleyError)?.retryAfter == 3
    }
    let answer = try await bench.client.ask("x [simulate: error 529 after 2]", model: "claude-haiku-4-5")
    await #expect(throws: BramleyError(.incompleteAnswer, message: "Overloaded")) {
      try await answer.text()
    }
  }

  @Test("an answer that breaks off is no answer")
  func broken() async throws {
    let bench = try Bench(upstream: gateway)
    let answer = try await bench.client.ask("x [simulate: drop after 2]", model: "claude-haiku-4-5")
    await #expect(throws: HTTPBodyError.incomplete) { try await answer.text() }
    struct Short: HTTPHandler {
      func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        HTTPResponse(status: 200, body: HTTPBody("event: ping\ndata: {\"type\":\"ping\"}\n\n"))
      }
    }
    let short = try Bench(upstream: Short())
    let cut = try await short.client.ask("x", model: "m")
    await #expect(throws: BramleyError(.incompleteAnswer)) { try await cut.text() }
  }

  @Test("whoever stops reading ends the answer")
  func stop() async throws {
    let bench = try Bench(upstream: gateway)
    do {
      let answer = try await bench.client.ask("x [simulate: tokens 500]", model: "claude-haiku-4-5")
      for try await event in answer { if case .text = event { break } }
    }
    #expect(gateway.anthropic.billing.abortedStreams == 1)
    #expect(gateway.anthropic.billing.outputTokens < 5)
  }
}
