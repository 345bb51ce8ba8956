import Admission
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// `POST /ai/fal/queue/{model}`: hands a call to fal's queue, with its money held until it is known what it cost
/// (RULES §5.7).
struct FalSubmitRoute: Endpoint {
  let method = HTTPMethod.post
  let path: String
  let errors = ErrorStyle.fal
  /// The path as the provider's policy knows it.
  let providerPath: String
  let gate: ProviderGate
  let desk: FalDesk

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let target = desk.exchange.target
    let caller = try await gate.caller(
      of: request, route: path, policy: target.policy, bodyLimit: target.bodyLimit, &exchange)
    let now = exchange.startedAt / 1000
    let admitted = try await gate.admit(
      caller, to: target, route: path, &exchange, lease: QueuedCall.lease
    ) { pseudonym throws(ProviderRefusal) in
      try target.provider.prepare(
        ProviderRequest(
          method: request.method, path: providerPath, query: request.query.map(String.init),
          fields: request.fields, body: caller.body, pseudonym: pseudonym, now: now))
    }
    let receipt = try await submit(admitted)
    let queued = try await keep(receipt.id, admitted, caller)
    // The call is in other hands now; its lease needs nobody.
    await admitted.context.live.end(admitted.context.id)
    gate.admitter.metrics.queuedCalls["submitted"].add()
    exchange.notes.append(("call", .string(FalDesk.name(queued))))
    return .json(
      FalQueue.answer(
        .queued(position: receipt.position), model: queued.model, id: FalDesk.name(queued),
        base: FalBase.of(request, gate.environment.configuration)))
  }

  private func submit(_ admitted: AdmittedCall) async throws -> (id: String, position: Int64) {
    let (call, context) = (admitted.call, admitted.context)
    let answer: FalAnswer
    do throws(FalSilence) {
      answer = try await desk.exchange.send(call)
    } catch {
      let written = error.error.written
      let settlement =
        written ? call.atReserve : CallSettlement(outcome: .released(giveBackCount: !error.error.isCancelled))
      let told = error.error.reason.error(retry: !written)
      if let alarm = error.alarm { context.alarm(alarm) }
      await context.settle(settlement, status: error.error.isCancelled ? 499 : told.status, firstByte: nil)
      if error.error.isCancelled { throw CancellationError() }
      await answered(told.status, context)
      throw Failure(told)
    }
    guard answer.isSuccess else {
      let scrubber = SecretScrubber(secrets: desk.exchange.target.secrets)
      let judged = desk.exchange.target.provider.judge(
        status: answer.status, fields: answer.fields, body: answer.body, scrubber: scrubber)
      await context.settle(call.settlement(of: judged), status: judged.error.status, firstByte: nil)
      if let alarm = judged.alarm { context.alarm(alarm) }
      await answered(judged.error.status, context)
      throw Failure(judged.error)
    }
    guard let receipt = FalQueue.receipt(answer.body) else {
      // Something was taken, and nobody can ask for it.
      await context.settle(call.atReserve, status: 502, firstByte: nil)
      context.alarm(.unexpectedContent)
      await answered(502, context)
      throw Failure.unreadableAnswer
    }
    await answered(answer.status, context)
    return receipt
  }

  /// Keeps the call, whatever becomes of the app meanwhile.
  private func keep(
    _ upstreamID: String, _ admitted: AdmittedCall, _ caller: Caller
  ) async throws -> QueuedCall {
    let (call, context) = (admitted.call, admitted.context)
    let environment = gate.environment
    guard let unit = call.price?.unit, let id = UUID(random: environment.random(16)),
      let owner = caller.owner(context.keyID)
    else {
      await context.settle(call.atReserve, status: 500, firstByte: nil)
      throw Failure.unreadableAnswer
    }
    let queued = QueuedCall(
      id: id.octets, reservation: context.id, provider: context.provider, model: call.model, route: path,
      upstreamID: upstreamID, owner: owner, userID: context.userID, unit: unit,
      microUnitBound: call.microUnitBound, imageBound: call.imageBound, reserve: call.reserve,
      submittedAt: context.startedAt)
    do {
      try await desk.store.add(queued, nextLook: environment.now() + queued.pause(at: queued.submittedAt))
    } catch {
      // Nobody would look after it: it is taken back if it can be, and booked as if it cannot.
      let desk = desk
      environment.background { _ = try? await desk.exchange.send(FalQueue.call(queued, .cancel)) }
      await context.settle(call.atReserve, status: 503, firstByte: nil)
      throw Failure.storage(error)
    }
    return queued
  }

  private func answered(_ status: Int, _ context: CallContext) async {
    await context.health.answered(status, keyID: context.keyID, now: gate.environment.now())
  }
}

extension Caller {
  /// Whose a queued call is: the key, or the debug token.
  func owner(_ keyID: [UInt8]?) -> [UInt8]? {
    if let keyID { return keyID }
    guard case .debugToken(tokenHash: let hash) = verified.evidence else { return nil }
    return hash
  }
}

/// The URL below which the gateway has fal's queue, for a client.
enum FalBase {
  static let path = "/ai/fal/queue"

  /// Of the base URLs that clients are configured with the one that this request came by, else the first. Its host
  /// chooses among ours and is never repeated.
  static func of(_ request: HTTPRequest, _ configuration: Configuration) -> String {
    let audiences = configuration.attest.audiences
    let own = audiences.first { BaseURL($0)?.authority == request.authority }
    return (own ?? audiences.first ?? "") + path
  }
}
