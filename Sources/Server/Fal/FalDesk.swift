import Admission
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages

/// Looks after the calls that fal's queue works on, for whoever asks: the app or the job (RULES §5.7).
///
/// A call may be looked at by several at once, on several nodes: its reservation is ended once, by the ledger, and
/// what is known of it never depends on who asked first.
struct FalDesk: Sendable {
  /// How often the queue may not know a call, while a row may be on its way there.
  private static let patience: Int64 = 5

  let environment: Environment
  let exchange: FalExchange
  let store: any QueuedCallStore
  let metrics: Metrics
  let log: ApplicationLog

  /// What a look at a call tells.
  enum Look: Sendable {
    case state(FalState)
    /// The queue does not know it.
    case gone
    /// Nothing.
    case unclear(Failure)
  }

  func look(at call: QueuedCall) async throws(CancellationError) -> Look {
    let answer: FalAnswer
    do throws(FalSilence) {
      answer = try await exchange.send(FalQueue.call(call, .status))
    } catch {
      return .unclear(try silent(error, call))
    }
    if answer.isSuccess {
      if let state = FalQueue.state(answer.body) { return .state(state) }
      alarm(.unexpectedContent, call)
      return .unclear(.unreadableAnswer)
    }
    if answer.status == 404 { return .gone }
    return .unclear(failure(answer, call))
  }

  /// The result of a call that is complete, or that has ended; it settles what is open. `failed`: the queue said that
  /// the call ended in an error. Throws a ``Failure`` where fal is silent.
  func result(of call: QueuedCall, failed: Bool) async throws -> FalAnswer {
    let answer: FalAnswer
    do throws(FalSilence) {
      answer = try await exchange.send(FalQueue.call(call, .result))
    } catch {
      throw try silent(error, call)
    }
    guard call.endedAt == nil else { return answer }
    let verdict = FalQueue.verdict(
      on: call, failed: failed || call.attempts >= Self.patience, status: answer.status,
      fields: answer.fields, body: answer.body)
    switch verdict {
    case .settle(let settlement): try await end(call, settlement, status: answer.status)
    case .later: try await lookAgain(at: call, unclear: true)
    }
    return answer
  }

  /// Ends the reservation, and then the call. Killed between the two, the call is looked at again, and its reservation
  /// is no more.
  func end(_ call: QueuedCall, _ settlement: CallSettlement, status: Int) async throws {
    let now = environment.now()
    let usage = settlement.usage
    let record = UsageRecord(
      keyID: nil, userID: call.userID.flatMap { $0.isEmpty ? nil : $0 }, route: call.route,
      provider: call.provider, model: call.model,
      status: status, cost: settlement.cost, estimated: settlement.estimated, startedAt: call.submittedAt,
      duration: max(0, now - call.submittedAt), images: settlement.images, units: settlement.units)
    let isAbove = settlement.cost > call.reserve
    let closure = ModelClosure(
      model: ProviderModel(provider: call.provider, name: call.model), closedAt: now, cost: settlement.cost,
      reserve: call.reserve)
    let outcome: Settlement.Outcome =
      switch settlement.outcome {
      case .used(let cost):
        .used(cost: cost, tokens: settlement.amounts.tokens, images: settlement.amounts.images)
      case .released(let giveBack): .released(giveBackCount: giveBack)
      }
    let settled = try await environment.ledger.settle(
      Settlement(
        id: call.reservation, outcome: outcome, now: now, usage: record, closure: isAbove ? closure : nil))
    if settled {
      metrics.settled(settlement.cost, provider: call.provider)
      metrics.queuedCalls[Self.outcome(settlement)].add()
      if isAbove {
        alarm(
          .costAboveReserve(model: call.model, cost: settlement.cost, reserve: call.reserve), call)
      }
      log.info(
        "queued_call_settled",
        [
          ("call", .string(Self.name(call))), ("model", .string(call.model)),
          ("cost", .integer(settlement.cost)), ("estimated", .bool(settlement.estimated)),
          ("micro_units", .integer(usage.microUnits)),
        ])
    }
    _ = try await store.end(call.id, now: now)
  }

  private static func outcome(_ settlement: CallSettlement) -> String {
    if case .released = settlement.outcome { return "released" }
    return settlement.estimated ? "estimated" : "billed"
  }

  /// What the job does with a call.
  func attend(to call: QueuedCall) async throws {
    if call.isOverdue(at: environment.now()) {
      // What it cost nobody knows, and nobody will.
      return try await end(call, call.atReserve, status: 0)
    }
    switch try await look(at: call) {
    case .state(.completed(let failed)):
      do {
        _ = try await result(of: call, failed: failed)
      } catch is Failure {
        try await lookAgain(at: call, unclear: true)
      }
    case .state(.queued), .state(.running): try await lookAgain(at: call, unclear: false)
    case .gone:
      guard call.attempts < Self.patience else { return try await end(call, call.atReserve, status: 404) }
      try await lookAgain(at: call, unclear: true)
    case .unclear: try await lookAgain(at: call, unclear: true)
    }
  }

  /// Has the hold last as long as the call may be waited for.
  func hold(_ call: QueuedCall) async {
    let now = environment.now()
    let left = QueuedCall.lease - max(0, now - call.submittedAt)
    do {
      _ = try await environment.ledger.renew(call.reservation, for: left, now: now)
    } catch {
      log.error(
        "queued_call_not_held", [("call", .string(Self.name(call))), ("error", .string("\(error)"))])
    }
  }

  private func lookAgain(at call: QueuedCall, unclear: Bool) async throws {
    let now = environment.now()
    // Whoever took it may have died before the hold was the queue's.
    if now - call.submittedAt >= 60_000 { await hold(call) }
    var pause = call.pause(at: now)
    if unclear { pause = max(pause, min(60_000, 2_000 << min(call.attempts, 5))) }
    try await store.look(at: call.id, again: now + pause, unclear: unclear)
  }

  /// What an answer that is no success means for the app; the operator is told what is theirs.
  func failure(_ answer: FalAnswer, _ call: QueuedCall) -> Failure {
    let scrubber = SecretScrubber(secrets: exchange.target.secrets)
    let judged = exchange.target.provider.judge(
      status: answer.status, fields: answer.fields, body: answer.body, scrubber: scrubber)
    if let alarm = judged.alarm { self.alarm(alarm, call) }
    return Failure(judged.error)
  }

  /// Throws `CancellationError` where the app left.
  private func silent(_ silence: FalSilence, _ call: QueuedCall) throws(CancellationError) -> Failure {
    if silence.error.isCancelled { throw CancellationError() }
    if let alarm = silence.alarm { self.alarm(alarm, call) }
    return Failure(silence.error.reason.error(retry: !silence.error.written))
  }

  private func alarm(_ alarm: ProxyAlarm, _ call: QueuedCall) {
    metrics.alarms[alarm.name].add()
    log.error(
      "alarm",
      [
        ("alarm", .string(alarm.name)), ("call", .string(Self.name(call))),
        ("provider", .string(call.provider)), ("model", .string(call.model)),
      ])
  }

  /// The call's name for log and app.
  static func name(_ call: QueuedCall) -> String { UUID(octets: call.id)?.description ?? "" }
}

extension Failure {
  /// A 2xx answer of a provider that says nothing.
  static let unreadableAnswer = Failure(
    502, .upstreamUnavailable, "The AI provider's answer could not be read.",
    fields: ["x-should-retry": "false"])
}
