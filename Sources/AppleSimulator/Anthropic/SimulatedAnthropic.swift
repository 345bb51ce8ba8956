import Encodings
public import HTTPMessages

/// Anthropic's Messages API, played on this machine: no network, no key of value, no money.
///
/// It answers `POST /v1/messages` (streamed and not), `POST /v1/messages/count_tokens` and `GET /v1/models`
/// as the real one does: its checks, its events in their order with cumulative usage, its error envelopes and
/// its headers. The answer is made of the prompt alone, so that a test can expect it. An instruction in the
/// last user message, such as `[simulate: error 529]`, changes the behaviour: see ``SimulationInstruction``.
///
/// What it would have billed is counted in ``billing``, so that a meter in front of it can be compared with
/// the truth.
public struct SimulatedAnthropic: HTTPHandler {
  /// What it was asked, and what it would have billed.
  public let billing: SimulatedBilling

  private let apiKey: String
  private let models: [SimulatedModel]
  private let now: @Sendable () -> Int64
  private let sleep: @Sendable (Duration) async throws -> Void

  /// A simulated Anthropic.
  ///
  /// - Parameters:
  ///   - apiKey: the only key that is taken, as `x-api-key` or as bearer.
  ///   - models: what it serves.
  ///   - now: seconds since 1970, for the times in headers.
  ///   - sleep: waits; throws `CancellationError` when the task is cancelled.
  public init(
    apiKey: String, models: [SimulatedModel] = SimulatedModel.all, now: @escaping @Sendable () -> Int64,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.apiKey = apiKey
    self.models = models
    self.now = now
    self.sleep = sleep
    billing = SimulatedBilling()
  }

  /// Answers as the real API would. Throws only `CancellationError`, out of a wait.
  public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    let number = billing.countCall()
    let heading = AnthropicHeading(number: number, now: now())
    do {
      return try await answer(request, heading)
    } catch let failure as AnthropicFailure {
      billing.countRefusal()
      return failure.response(heading)
    }
  }

  private func answer(_ request: HTTPRequest, _ heading: AnthropicHeading) async throws -> HTTPResponse {
    let caller = try AnthropicCaller(request.fields, apiKey: apiKey)
    switch (request.method, request.path) {
    case (.post, "/v1/messages"):
      let message = try AnthropicMessageRequest(
        try await content(request), version: caller.version, models: models, counting: false)
      return try await converse(message, caller, heading)
    case (.post, "/v1/messages/count_tokens"):
      let message = try AnthropicMessageRequest(
        try await content(request), version: caller.version, models: models, counting: true)
      return heading.json(["input_tokens": .integer(message.inputTokens)])
    case (.get, "/v1/models"):
      return heading.json(SimulatedModel.list(models))
    case (.get, let path) where path.hasPrefix("/v1/models/"):
      let id = path.dropFirst("/v1/models/".count)
      guard let model = models.first(where: { $0.id == id }) else { throw .notFound("model: \(id)") }
      return heading.json(model.description)
    case (_, "/v1/messages"), (_, "/v1/messages/count_tokens"), (_, "/v1/models"):
      throw AnthropicFailure(status: 405, type: "invalid_request_error", message: "Method Not Allowed")
    default:
      throw .notFound("Not found")
    }
  }

  /// The body, within the real API's 32 MB.
  private func content(_ request: HTTPRequest) async throws -> [UInt8] {
    do {
      return try await request.body.collect(upTo: 32 << 20)
    } catch HTTPBodyError.tooLarge {
      throw AnthropicFailure(
        status: 413, type: "request_too_large", message: "Request exceeds the maximum size")
    }
  }

  private func converse(
    _ message: AnthropicMessageRequest, _ caller: AnthropicCaller, _ heading: AnthropicHeading
  ) async throws -> HTTPResponse {
    let simulation = message.simulation
    if let moved = try await simulation.opening(heading.json(["moved": true]), sleep: sleep) { return moved }
    if let error = simulation.error, simulation.errorAfter == nil || !message.stream {
      throw AnthropicFailure(simulated: error, in: simulation, key: caller.key)
    }
    let answer = SimulatedAnswer(to: message, key: caller.key)
    billing.count(input: message.inputTokens)
    let id = "msg_simulated\(heading.number)"
    if message.stream {
      let script = AnswerScript(answer, for: message, id: id, requestID: heading.requestID)
      return heading.eventStream(
        simulation.streamed(script.steps, billing: billing, sleep: sleep), gzip: simulation.gzip)
    }
    billing.count(output: answer.outputTokens)
    return heading.message(answer.message(id: id, for: message), simulation, billing: billing, sleep: sleep)
  }
}

extension Error where Self == AnthropicFailure {
  /// 404.
  static func notFound(_ message: String) -> AnthropicFailure {
    AnthropicFailure(status: 404, type: "not_found_error", message: message)
  }
}
