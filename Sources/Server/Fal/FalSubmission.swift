import Admission
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// One call on its way into fal's queue, with its money held (RULES §5.7).
///
/// Until fal has taken it, and a row says so, the hold is one of a running call: a server that dies in between leaves
/// the phone's place free after minutes, with the whole of the hold booked. From then on it lasts as long as the queue
/// may.
actor FalSubmission: PaidWork {
  private let admitted: AdmittedCall
  private let caller: Caller
  /// The template of the route that took it.
  private let route: String
  private let desk: FalDesk
  /// The URL below which the client finds the queue here.
  private let base: String
  /// It throws what went wrong.
  let code: ErrorCode? = nil
  private(set) var remainder = WorkRemainder.mark

  init(_ admitted: AdmittedCall, of caller: Caller, route: String, desk: FalDesk, base: String) {
    self.admitted = admitted
    self.caller = caller
    self.route = route
    self.desk = desk
    self.base = base
  }

  /// Hands the call over, and answers with its name. Throws a ``Failure``.
  func run() async throws -> HTTPResponse {
    let receipt = try await submit()
    let queued = try await keep(receipt.id)
    // The call is in other hands now; its lease needs nobody.
    await admitted.context.live.end(admitted.context.id)
    remainder = .answer
    let context = admitted.context
    context.metrics.queuedCalls["submitted"].add()
    context.log.info(
      "queued_call_submitted",
      [("request_id", .string(context.requestID)), ("call", .string(FalDesk.name(queued)))])
    return .json(
      FalQueue.answer(
        .queued(position: receipt.position), model: queued.model, id: FalDesk.name(queued), base: base))
  }

  private func submit() async throws -> (id: String, position: Int64) {
    let (call, context) = (admitted.call, admitted.context)
    let answer: FalAnswer
    do throws(FalSilence) {
      answer = try await desk.exchange.send(call)
    } catch {
      let written = error.error.written
      let settlement =
        written ? call.atReserve : CallSettlement(outcome: .released(giveBackCount: !error.error.isCancelled))
      if !written { remainder = .nothing }
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
      let settlement = call.settlement(of: judged)
      if case .released = settlement.outcome { remainder = .nothing }
      await context.settle(settlement, status: judged.error.status, firstByte: nil)
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
  private func keep(_ upstreamID: String) async throws -> QueuedCall {
    let (call, context) = (admitted.call, admitted.context)
    let environment = desk.environment
    guard let unit = call.price?.unit, let id = UUID(random: environment.random(16)),
      let owner = caller.owner(context.keyID)
    else {
      await context.settle(call.atReserve, status: 500, firstByte: nil)
      throw Failure.unreadableAnswer
    }
    let queued = QueuedCall(
      id: id.octets, reservation: context.id, provider: context.provider, model: call.model, route: route,
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
    // Where this fails, or the server dies before it, the job does it with a later look.
    await desk.hold(queued)
    return queued
  }

  private func answered(_ status: Int, _ context: CallContext) async {
    await context.health.answered(status, keyID: context.keyID, now: desk.environment.now())
  }
}
