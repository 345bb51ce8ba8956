import Encodings
public import HTTPMessages

/// fal.ai, played on this machine: no network, no key of value, no money.
///
/// It answers as `fal.run`, `queue.fal.run` and the host of result files, told apart by the request's authority, with
/// fal's shapes of answers and errors. Every picture is a point. An instruction in the prompt, such as
/// `[simulate: error 500]`, changes the behaviour: see ``SimulationInstruction``.
public struct SimulatedFal: HTTPHandler {
  /// What it was asked, and what it would have billed.
  public let billing: SimulatedFalBilling

  /// The hosts that it answers for.
  public struct Hosts: Sendable, Equatable {
    /// Direct calls.
    public var direct: String
    /// The queue.
    public var queue: String
    /// Files of results.
    public var media: String

    /// fal's own.
    public init(
      direct: String = "fal.run", queue: String = "queue.fal.run", media: String = "v3.fal.media"
    ) {
      self.direct = direct
      self.queue = queue
      self.media = media
    }

    /// Whether it is one of them.
    public func contains(_ authority: String) -> Bool { [direct, queue, media].contains(authority) }
  }

  private let apiKey: String
  private let apps: Set<String>
  private let hosts: Hosts
  private let calls: SimulatedFalQueue
  private let sleep: @Sendable (Duration) async throws -> Void

  /// A simulated fal.
  ///
  /// - Parameters:
  ///   - apiKey: the only key that is taken.
  ///   - apps: the models that it serves.
  ///   - sleep: waits; throws `CancellationError` when the task is cancelled.
  public init(
    apiKey: String, apps: [String] = ["fal-ai/flux/schnell"], hosts: Hosts = Hosts(),
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.apiKey = apiKey
    self.apps = Set(apps)
    self.hosts = hosts
    self.sleep = sleep
    billing = SimulatedFalBilling()
    calls = SimulatedFalQueue(billing: billing)
  }

  /// Moves every call of the queue on: one that waits runs, one that runs is complete.
  public func advance() async { await calls.advanceAll() }

  /// Answers as fal would. Throws only `CancellationError`, out of a wait.
  public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    let id = "00000000-0000-4000-8000-" + Self.twelveDigits(billing.countCall())
    do {
      if request.authority == hosts.media { return try file(request) }
      guard request.fields["authorization"] == "Key " + apiKey else {
        throw FalFailure(
          401, "Cannot access application. Authentication is required to access this application.")
      }
      return try await request.authority == hosts.queue ? queue(request, id) : run(request, id)
    } catch let failure as FalFailure {
      billing.countRefusal()
      return failure.response(requestID: id)
    }
  }

  private func picture(_ request: HTTPRequest) async throws -> (app: String, SimulatedPicture) {
    let app = String(request.path.dropFirst())
    guard apps.contains(app) else { throw FalFailure(404, "Application not found") }
    guard request.method == .post else { throw FalFailure(405, "Method Not Allowed") }
    return (app, try SimulatedPicture(try await request.body.collect(upTo: 1 << 20)))
  }

  private func run(_ request: HTTPRequest, _ id: String) async throws -> HTTPResponse {
    let (_, picture) = try await picture(request)
    let simulation = picture.simulation
    if simulation.delay > .zero { try await sleep(simulation.delay) }
    if simulation.redirect { return redirection }
    if let error = simulation.error {
      let failure = FalFailure(simulated: error, in: simulation, key: apiKey)
      if error < 500, let units = failure.billed { billing.bill(units) }
      throw failure
    }
    billing.bill(picture.microUnits)
    return answer(picture, id)
  }

  private func queue(_ request: HTTPRequest, _ id: String) async throws -> HTTPResponse {
    let parts = request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(
      String.init)
    guard let place = parts.firstIndex(of: "requests"), place + 1 < parts.count else {
      let (app, picture) = try await picture(request)
      if picture.simulation.delay > .zero { try await sleep(picture.simulation.delay) }
      if picture.simulation.redirect { return redirection }
      await calls.add(picture, app: app, id: id)
      return json(receipt(app, id, ("IN_QUEUE", [("queue_position", 0)])), id)
    }
    let (app, call) = (parts[..<place].joined(separator: "/"), parts[place + 1])
    switch (request.method, parts.dropFirst(place + 2).joined(separator: "/")) {
    case (.get, "status"): return try await status(app, call)
    case (.get, ""): return try await result(app, call)
    case (.put, "cancel"): return try await cancel(app, call)
    default: throw FalFailure(404, "Not Found")
    }
  }

  private func status(_ app: String, _ id: String) async throws -> HTTPResponse {
    guard let call = await calls.look(at: id, app: app) else { throw FalFailure(404, "Request not found") }
    switch call.place {
    case .waiting: return json(receipt(app, id, ("IN_QUEUE", [("queue_position", 0)])), id, status: 202)
    case .running: return json(receipt(app, id, ("IN_PROGRESS", [("logs", nil)])), id, status: 202)
    case .complete, .cancelled:
      var more: [(String, JSONValue)] = [("logs", nil), ("metrics", ["inference_time": .number("0.42")])]
      if call.place == .cancelled || call.picture.simulation.error != nil {
        more += [("error", "The request failed"), ("error_type", "runner_error")]
      }
      return json(receipt(app, id, ("COMPLETED", more)), id)
    }
  }

  private func result(_ app: String, _ id: String) async throws -> HTTPResponse {
    guard let call = await calls.call(id, app), !call.picture.simulation.lost else {
      throw FalFailure(404, "Request not found")
    }
    switch call.place {
    case .waiting, .running: throw FalFailure(400, "Request is still in progress")
    case .cancelled: throw FalFailure(499, "Request was cancelled")
    case .complete:
      if let error = call.picture.simulation.error {
        throw FalFailure(simulated: error, in: call.picture.simulation, key: apiKey)
      }
      return answer(call.picture, id)
    }
  }

  private func cancel(_ app: String, _ id: String) async throws -> HTTPResponse {
    switch await calls.cancel(id, app: app) {
    case nil: return json(["status": "NOT_FOUND"], id, status: 404)
    case .complete, .cancelled: return json(["status": "ALREADY_COMPLETED"], id, status: 400)
    case .waiting, .running: return json(["status": "CANCELLATION_REQUESTED"], id, status: 202)
    }
  }

  private func file(_ request: HTTPRequest) throws(FalFailure) -> HTTPResponse {
    guard request.method == .get, request.path.hasPrefix("/files/simulated/") else {
      throw FalFailure(404, "Not Found")
    }
    billing.countFile()
    return HTTPResponse(
      status: 200, fields: ["content-type": "image/png"], body: HTTPBody(SimulatedPicture.png))
  }

  /// A result with the misbehaviour that its instructions ask for.
  private func answer(_ picture: SimulatedPicture, _ id: String) -> HTTPResponse {
    let simulation = picture.simulation
    var response = json(picture.result(id: id, host: hosts.media, key: apiKey), id)
    if !simulation.noUsage {
      response.fields["x-fal-billable-units"] = SimulatedPicture.units(picture.microUnits)
    }
    guard case .bytes(var bytes) = response.body.content else { return response }
    if simulation.gzip {
      response.fields["content-encoding"] = "gzip"
      var gzip = StoredGzip()
      bytes = gzip.begin() + gzip.add(bytes) + gzip.end()
      response.body = HTTPBody(bytes)
    }
    guard simulation.dropAfter != nil || simulation.chunk != nil || simulation.stall else { return response }
    var steps: [AnswerScript.Step] = [.send(Array(bytes.prefix(bytes.count / 2)), outputTokens: 0)]
    if simulation.dropAfter != nil {
      steps.append(.drop)
    } else {
      if simulation.stall { steps.append(.stall) }
      steps.append(.send(Array(bytes.dropFirst(bytes.count / 2)), outputTokens: 0))
    }
    response.body = HTTPBody(
      stream: AnswerStream(
        steps, chunk: simulation.chunk, gzip: false, billing: SimulatedBilling(), sleep: sleep),
      length: bytes.count)
    return response
  }

  /// What the queue says of a call, with fal's own URLs.
  private func receipt(
    _ app: String, _ id: String, _ state: (status: String, more: [(String, JSONValue)])
  ) -> JSONValue {
    let base = "https://\(hosts.queue)/" + app.split(separator: "/").prefix(2).joined(separator: "/")
    return .object(
      [
        ("status", .string(state.status)), ("request_id", .string(id)),
        ("response_url", .string("\(base)/requests/\(id)")),
        ("status_url", .string("\(base)/requests/\(id)/status")),
        ("cancel_url", .string("\(base)/requests/\(id)/cancel")),
      ] + state.more)
  }

  private func json(_ value: JSONValue, _ id: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status,
      fields: [
        "content-type": "application/json", "x-fal-request-id": id, "x-fal-runner-hint": "simulated",
        "set-cookie": "simulated=1",
      ], body: HTTPBody(value.bytes))
  }

  private var redirection: HTTPResponse {
    HTTPResponse(status: 307, fields: ["location": "https://elsewhere.example/"])
  }

  private static func twelveDigits(_ number: Int) -> String {
    let digits = String(number % 1_000_000_000_000)
    return String(repeating: "0", count: 12 - digits.count) + digits
  }
}
