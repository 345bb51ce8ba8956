import Encodings
public import HTTPMessages

/// OpenAI's Chat Completions, played on this machine: no network, no key of value, no money.
///
/// It answers `POST /v1/chat/completions` (streamed and not) and `GET /v1/models` as the real API does: its checks,
/// its chunks in their order, its errors and its fields. The answer is made of the prompt alone, and the
/// instructions in it are those of ``SimulationInstruction``. What it would have billed is counted in
/// ``billing``, reasoning that nobody sees included.
public struct SimulatedOpenAI: HTTPHandler {
  /// What it was asked, and what it would have billed.
  public let billing: SimulatedBilling

  /// The models that it serves.
  public static let models = [
    SimulatedModel(id: "gpt-6-luna", displayName: "GPT-6 Luna", maximumOutput: 128_000),
    SimulatedModel(id: "gpt-6-sol", displayName: "GPT-6 Sol", maximumOutput: 128_000),
    SimulatedModel(id: "gpt-5-mini", displayName: "GPT-5 mini", maximumOutput: 128_000),
    SimulatedModel(id: "gpt-4.1-mini", displayName: "GPT-4.1 mini", maximumOutput: 32_768),
  ]

  private let apiKey: String
  private let models: [SimulatedModel]
  private let now: @Sendable () -> Int64
  private let sleep: @Sendable (Duration) async throws -> Void

  /// A simulated OpenAI.
  ///
  /// - Parameters:
  ///   - apiKey: the only key that is taken.
  ///   - models: what it serves.
  ///   - now: seconds since 1970, for `created`.
  ///   - sleep: waits; throws `CancellationError` when the task is cancelled.
  public init(
    apiKey: String, models: [SimulatedModel] = SimulatedOpenAI.models, now: @escaping @Sendable () -> Int64,
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
    let heading = OpenAIHeading(number: billing.countCall())
    do {
      return try await answer(request, heading)
    } catch let failure as OpenAIFailure {
      billing.countRefusal()
      return failure.response(heading)
    }
  }

  private func answer(_ request: HTTPRequest, _ heading: OpenAIHeading) async throws -> HTTPResponse {
    guard let credential = request.fields["authorization"], credential.hasPrefix("Bearer ") else {
      throw OpenAIFailure(
        status: 401, "You didn't provide an API key. You need to provide it in an Authorization header.")
    }
    guard credential == "Bearer " + apiKey else {
      throw OpenAIFailure(status: 401, "Incorrect API key provided.", code: "invalid_api_key")
    }
    switch (request.method, request.path) {
    case (.post, "/v1/chat/completions"):
      return try await complete(ChatCompletionRequest(try await content(request), models: models), heading)
    case (.get, "/v1/models"):
      let list = models.map { model -> JSONValue in
        ["id": .string(model.id), "object": "model", "created": 1_767_225_600, "owned_by": "openai"]
      }
      return heading.json(["object": "list", "data": .array(list)])
    case (_, "/v1/chat/completions"), (_, "/v1/models"):
      throw OpenAIFailure(
        status: 405, "Not allowed to \(request.method.rawValue) here.", code: "method_not_supported")
    default:
      throw OpenAIFailure(status: 404, "Invalid URL (\(request.method.rawValue) \(request.path))")
    }
  }

  private func content(_ request: HTTPRequest) async throws -> [UInt8] {
    do {
      return try await request.body.collect(upTo: 64 << 20)
    } catch HTTPBodyError.tooLarge {
      throw OpenAIFailure(status: 413, "Request too large", code: "request_too_large")
    }
  }

  private func complete(
    _ asked: ChatCompletionRequest, _ heading: OpenAIHeading
  ) async throws -> HTTPResponse {
    let simulation = asked.simulation
    if let moved = try await simulation.opening(heading.json(["moved": true]), sleep: sleep) { return moved }
    if let error = simulation.error, simulation.errorAfter == nil || !asked.stream {
      throw OpenAIFailure(simulated: error, in: simulation, key: apiKey)
    }
    let answer = ChatAnswer(to: asked, key: apiKey)
    billing.count(input: asked.inputTokens)
    let id = "chatcmpl-simulated\(heading.number)"
    if asked.stream {
      let script = ChatScript(answer, for: asked, id: id, created: now())
      return heading.eventStream(
        simulation.streamed(script.steps, billing: billing, sleep: sleep), gzip: simulation.gzip)
    }
    billing.count(output: answer.outputTokens)
    let value = answer.completion(id: id, created: now())
    return simulation.whole(value, heading.json(value), billing: billing, sleep: sleep)
  }
}
