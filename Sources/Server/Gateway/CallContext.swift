import Admission
import Encodings
import Gateway
import HTTPMessages

/// What a running call needs beside its state: who it is for, and what to do at its end.
struct CallContext: Sendable {
  let environment: Environment
  let metrics: Metrics
  let log: ApplicationLog
  let live: LiveReservations
  let owed: OwedSettlements
  let health: ProviderHealth
  /// The reservation.
  let id: [UInt8]
  let requestID: String
  let route: String
  let provider: String
  let model: String
  /// The name of the function that makes the call; nil where it is passed through.
  var function: String?
  let keyID: [UInt8]?
  let userID: String?
  let startedAt: Int64
  /// The uptime at the start, nanoseconds.
  let started: Int64
  /// What it shares with the other calls of its chain.
  var chain = ChainContext()

  /// Milliseconds since the start.
  var elapsed: Int64 { max(0, (environment.uptime() - started) / 1_000_000) }

  /// Ends the reservation. The task of a client that left is cancelled, and a database may be away for a while:
  /// what cannot be written now is tried again until it can, and at last the sweep books the whole hold.
  ///
  /// - Parameters:
  ///   - alarms: what goes with it; a cost above the reserve closes the model in the same step.
  ///   - asked: the providers of the chain that were asked before this one.
  func settle(
    _ settlement: CallSettlement, status: Int, firstByte: Int64?, alarms: [ProxyAlarm] = [],
    asked: Set<String> = []
  ) async {
    let row = row(settlement, status: status, firstByte: firstByte, alarms: alarms, asked: asked)
    let usage = settlement.usage
    metrics.settled(settlement.cost, provider: provider)
    metrics.inputTokens.add(Int(clamping: usage.input))
    metrics.outputTokens.add(Int(clamping: usage.output))
    do {
      try await environment.ledger.settle(row)
      await live.end(id)
    } catch {
      environment.background { [self] in
        do {
          try await environment.ledger.settle(row)
        } catch {
          let isKept = await owed.add(row)
          metrics.alarms[Metrics.Alarm.settlement].add()
          log.error(
            isKept ? "settlement_delayed" : "settlement_failed",
            [
              ("request_id", .string(requestID)), ("cost", .integer(settlement.cost)),
              ("error", .string("\(error)")),
            ])
        }
        await live.end(id)
      }
    }
  }

  /// The settlement as the ledger takes it.
  func row(
    _ settlement: CallSettlement, status: Int, firstByte: Int64?, alarms: [ProxyAlarm], asked: Set<String>
  ) -> Settlement {
    let usage = settlement.usage
    let record = UsageRecord(
      keyID: keyID, userID: userID, route: route, provider: provider, model: model, status: status,
      inputTokens: usage.input, cacheReadTokens: usage.cacheRead, cacheWrite5mTokens: usage.cacheWrite5m,
      cacheWrite1hTokens: usage.cacheWrite1h, outputTokens: usage.output, cost: settlement.cost,
      estimated: settlement.estimated, startedAt: startedAt, firstByte: firstByte, duration: elapsed,
      function: function, images: settlement.images, units: settlement.units)
    let outcome: Settlement.Outcome =
      switch settlement.outcome {
      case .used(let cost):
        .used(cost: cost, tokens: settlement.amounts.tokens, images: settlement.amounts.images)
      case .released(let giveBack): .released(giveBackCount: giveBack)
      }
    let now = environment.now()
    let closure = alarms.lazy.compactMap { alarm -> ModelClosure? in
      guard case .costAboveReserve(let model, let cost, let reserve) = alarm else { return nil }
      return ModelClosure(
        model: ProviderModel(provider: provider, name: model), closedAt: now, cost: cost, reserve: reserve)
    }.first
    return Settlement(
      id: id, outcome: outcome, now: now, usage: record, closure: closure,
      sparing: chain.spared(settledBy: provider, asked: asked))
  }

  /// Tells the operator.
  func alarm(_ alarm: ProxyAlarm) {
    metrics.alarms[alarm.name].add()
    var members: [(String, JSONValue)] = [
      ("alarm", .string(alarm.name)), ("request_id", .string(requestID)), ("provider", .string(provider)),
      ("model", .string(model)),
    ]
    switch alarm {
    case .operatorFault(let status, let type):
      members += [("upstream_status", .integer(status)), ("upstream_type", .string(type))]
    case .costAboveReserve(_, let cost, let reserve):
      members += [("cost", .integer(cost)), ("reserve", .integer(reserve))]
    case .redirected(let status): members.append(("upstream_status", .integer(status)))
    case .secretInAnswer, .encodedAnswer, .unexpectedContent, .usageUnreadable: break
    }
    log.error("alarm", members)
  }
}
