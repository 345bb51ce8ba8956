import Admission
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// What an app may do with its call in fal's queue: ask where it is, ask for the result, take it back. To anybody but
/// the key and the user that it is of there is no such call (RULES §5.7).
struct FalCallRoute: Endpoint {
  let step: FalStep
  /// As the queue names the models of these calls.
  let queueName: String
  let gate: ProviderGate
  let desk: FalDesk

  var method: HTTPMethod { step == .cancel ? .put : .get }
  var path: String { Self.path(queueName: queueName, step) }
  var errors: ErrorStyle { .fal }

  static func path(queueName: String, _ step: FalStep) -> String {
    "\(FalBase.path)/\(queueName)/requests/{id}\(step.suffix)"
  }

  /// How long an app waits for the state of a call that goes on: who asks ten times a second gets two answers.
  private static let pace = Duration.milliseconds(500)
  private static let bodyLimit = 1_024
  private static let queries: Set<String> = ["logs=0", "logs=1", "logs=false", "logs=true"]

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let caller = try await gate.caller(
      of: request, route: path, policy: desk.exchange.target.policy, bodyLimit: Self.bodyLimit, &exchange)
    let admitted = try await gate.admitter.admit(
      .look, caller.verified, &exchange, lease: nil, user: caller.user)
    if let query = request.query, !(step == .status && Self.queries.contains(String(query).lowercased())) {
      throw Failure(400, "query_not_allowed", "No query is allowed here but logs, which stay behind.")
    }
    let call = try await call(exchange.parameter, caller.owner(admitted.keyID), admitted.userID)
    switch step {
    case .status: return try await status(call, request)
    case .result: return try await result(call)
    case .cancel: return try await cancel(call)
    }
  }

  private func call(_ name: String?, _ owner: [UInt8]?, _ userID: String?) async throws -> QueuedCall {
    guard let owner, let id = name.flatMap({ UUID($0) }) else { throw Failure.noSuchCall }
    let found: QueuedCall?
    do {
      found = try await desk.store.call(id.octets)
    } catch {
      throw Failure.storage(error)
    }
    guard let call = found, call.belongs(to: owner, userID: userID),
      FalApp.queueName(of: call.model) == queueName
    else { throw Failure.noSuchCall }
    return call
  }

  private func status(_ call: QueuedCall, _ request: HTTPRequest) async throws -> HTTPResponse {
    var state = FalState.completed(failed: false)
    if call.endedAt == nil {
      try await gate.environment.sleep(Self.pace)
      switch try await desk.look(at: call) {
      case .state(let now): state = now
      case .gone: throw Failure.noSuchCall
      case .unclear(let failure): throw failure
      }
      if case .completed(let failed) = state { await settle(call, failed: failed) }
    }
    var isOver = false
    if case .completed = state { isOver = true }
    var response = HTTPResponse.json(
      FalQueue.answer(
        state, model: call.model, id: FalDesk.name(call),
        base: FalBase.of(request, gate.environment.configuration)))
    response.status = isOver ? 200 : 202
    return response
  }

  /// At once, so that the app's next call need not wait for the job; what fails here the job does later.
  private func settle(_ call: QueuedCall, failed: Bool) async {
    _ = try? await desk.result(of: call, failed: failed)
  }

  private func result(_ call: QueuedCall) async throws -> HTTPResponse {
    var failed = false
    if call.endedAt == nil {
      switch try await desk.look(at: call) {
      case .state(.completed(let error)): failed = error
      case .state: throw Failure(400, .invalidRequest, "The call is still in progress.")
      case .gone: throw Failure.noSuchCall
      case .unclear(let failure): throw failure
      }
    }
    let answer = try await desk.result(of: call, failed: failed)
    guard answer.isSuccess else {
      // A result that is kept no longer, or of a call that was taken back.
      if [404, 410, 499].contains(answer.status) { throw Failure.noSuchCall }
      throw desk.failure(answer, call)
    }
    return HTTPResponse(
      status: 200, fields: desk.exchange.target.provider.answerFields(answer.fields),
      body: HTTPBody(answer.body))
  }

  private func cancel(_ call: QueuedCall) async throws -> HTTPResponse {
    guard call.endedAt == nil else { return Self.told("ALREADY_COMPLETED", 400) }
    let before = try await desk.look(at: call)
    switch before {
    case .state(.completed(let failed)):
      await settle(call, failed: failed)
      return Self.told("ALREADY_COMPLETED", 400)
    case .gone: throw Failure.noSuchCall
    case .unclear(let failure): throw failure
    case .state: break
    }
    let answer: FalAnswer
    do throws(FalSilence) {
      answer = try await desk.exchange.send(FalQueue.call(call, .cancel))
    } catch {
      if error.error.isCancelled { throw CancellationError() }
      throw Failure(error.error.reason.error(retry: !error.error.written))
    }
    switch answer.status {
    case 202:
      if case .state(.queued) = before, try await hasNotBegun(call) {
        try await desk.end(call, CallSettlement(outcome: .released(giveBackCount: false)), status: 202)
      }
      return Self.told("CANCELLATION_REQUESTED", 202)
    case 400: return Self.told("ALREADY_COMPLETED", 400)
    case 404: throw Failure.noSuchCall
    default: throw desk.failure(answer, call)
    }
  }

  /// Whether nobody has worked on a call that was taken back: it may have begun between the look and the taking.
  private func hasNotBegun(_ call: QueuedCall) async throws -> Bool {
    switch try await desk.look(at: call) {
    case .gone, .state(.queued): return true
    case .state(.running), .unclear: return false
    case .state(.completed(let failed)):
      guard failed, let result = try? await desk.exchange.send(FalQueue.call(call, .result)) else {
        return false
      }
      return !result.isSuccess && result.fields["x-fal-billable-units"] == nil
    }
  }

  private static func told(_ status: String, _ code: Int) -> HTTPResponse {
    var response = HTTPResponse.json(["status": .string(status)])
    response.status = code
    return response
  }
}

extension Failure {
  /// One answer for what is not there and what is somebody else's.
  static let noSuchCall = Failure(404, .notFound, "There is no such call.")
}
