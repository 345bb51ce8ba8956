import AppleSimulator
import Encodings
import HTTPMessages
import Testing

@Suite("The simulated fal") struct SimulatedFalTests {
  private let fal = SimulatedFal(apiKey: "id:secret", sleep: { try await Task.sleep(for: $0) })
  private let app = "/fal-ai/flux/schnell"

  private func send(
    _ method: HTTPMethod, _ target: String, _ body: String = "", host: String = "queue.fal.run",
    key: String = "id:secret"
  ) async throws -> HTTPResponse {
    try await fal.respond(
      to: HTTPRequest(
        method: method, scheme: "https", authority: host, target: target,
        fields: ["authorization": "Key \(key)", "content-type": "application/json"], body: HTTPBody(body)))
  }

  private func submit(_ prompt: String) async throws -> String {
    let response = try await send(.post, app, JSONValue.object([("prompt", .string(prompt))]).text)
    #expect(response.status == 200)
    let id = try #require(try await read(response)["request_id"]?.string)
    return "/fal-ai/flux/requests/\(id)"
  }

  private func status(_ call: String) async throws -> String? {
    try await read(try await send(.get, call + "/status"))["status"]?.string
  }

  @Test("a direct call gives pictures, units and a bill")
  func direct() async throws {
    let response = try await send(
      .post, app, #"{"prompt":"a cat","num_images":2,"image_size":"square_hd"}"#, host: "fal.run")
    #expect(response.fields["x-fal-billable-units"] == "4")
    let root = try await read(response)
    #expect(root["images"]?.elements?.count == 2)
    #expect(fal.billing.microUnits == 4_000_000 && fal.billing.billedCalls == 1)
    let url = try #require(root["images"]?.elements?.first?["url"]?.string)
    #expect(url.hasPrefix("https://v3.fal.media/files/"))
    let file = try await send(.get, String(url.dropFirst("https://v3.fal.media".count)), host: "v3.fal.media")
    #expect(file.fields["content-type"] == "image/png")
    #expect(try await file.body.collect(upTo: 1_000).starts(with: [0x89, 0x50, 0x4E, 0x47]))
  }

  @Test("a call in the queue waits, runs, and is complete, and is billed once")
  func queue() async throws {
    let call = try await submit("a cat")
    var states: [String?] = []
    for _ in 0..<5 { states.append(try await status(call)) }
    #expect(states == ["IN_QUEUE", "IN_PROGRESS", "IN_PROGRESS", "COMPLETED", "COMPLETED"])
    #expect(fal.billing.microUnits == 1_000_000)
    #expect(try await send(.get, call).fields["x-fal-billable-units"] == "1")
    #expect(try await send(.get, call).status == 200)
    #expect(fal.billing.billedCalls == 1)
    #expect(try await send(.put, call + "/cancel").status == 400)
  }

  @Test("a call that nobody works on is taken out; one that runs goes on")
  func cancel() async throws {
    let waiting = try await submit("a [simulate: wait 99]")
    let running = try await submit("b [simulate: wait 0]")
    _ = try await status(running)
    #expect(try await send(.put, waiting + "/cancel").status == 202)
    #expect(try await send(.put, running + "/cancel").status == 202)
    #expect(fal.billing.cancelled == 1)
    await fal.advance()
    await fal.advance()
    #expect(fal.billing.billedCalls == 1)
    #expect(try await send(.get, waiting).status == 499)
    #expect(try await send(.get, running).status == 200)
    #expect(try await send(.put, "/fal-ai/flux/requests/nobody/cancel").status == 404)
  }

  @Test("instructions: errors, lost calls, other units, no units")
  func instructions() async throws {
    let failing = try await submit("[simulate: error 500] [simulate: wait 0]")
    _ = try await status(failing)
    let end = try await read(try await send(.get, failing + "/status"))
    #expect(end["status"]?.string == "COMPLETED" && end["error"]?.string != nil)
    #expect(try await send(.get, failing).status == 500)
    let lost = try await submit("[simulate: lost]")
    #expect(try await send(.get, lost + "/status").status == 404)
    #expect(fal.billing.billedCalls == 0)
    let more = try await send(.post, app, #"{"prompt":"[simulate: units 7]"}"#, host: "fal.run")
    #expect(more.fields["x-fal-billable-units"] == "7" && fal.billing.microUnits == 7_000_000)
    let silent = try await send(.post, app, #"{"prompt":"[simulate: no usage]"}"#, host: "fal.run")
    #expect(silent.fields["x-fal-billable-units"] == nil && fal.billing.microUnits == 8_000_000)
    let refused = try await send(
      .post, app, #"{"prompt":"[simulate: error 422] [simulate: units 1]"}"#, host: "fal.run")
    #expect(refused.status == 422 && fal.billing.microUnits == 9_000_000)
    #expect(try await send(.post, app, #"{"prompt":"[simulate: nonsense]"}"#, host: "fal.run").status == 422)
  }

  @Test("no key, no input, no model: refused as fal does")
  func refusals() async throws {
    #expect(try await send(.post, app, #"{"prompt":"a"}"#, host: "fal.run", key: "other").status == 401)
    #expect(try await send(.post, "/fal-ai/other", #"{"prompt":"a"}"#, host: "fal.run").status == 404)
    let response = try await send(.post, app, "{}", host: "fal.run")
    #expect(response.status == 422)
    let detail = try await read(response)["detail"]?.elements?.first
    #expect(detail?["loc"]?.elements?.last?.string == "prompt")
    #expect(fal.billing.refusals == 3)
  }
}
