package import HTTPMessages

/// One call to a provider, from the admitted request to the settled reservation, as a value.
///
/// The server feeds it what happens and does what it says, in order. Whatever happens, and in which order,
/// it says `settle` exactly once, before the answer ends, and nothing of the answer after `cut` or `finish`.
package struct ProxyState: Sendable {
  /// What happens.
  package enum Event: Sendable {
    /// An octet of the request may have been written to the provider: from here on it may bill.
    case requestWritten
    /// The head of the provider's answer.
    case head(status: Int, fields: HTTPFields)
    /// Octets of its content.
    case chunk([UInt8])
    /// Its content is complete.
    case ended
    /// The exchange broke; `written` as in `requestWritten`.
    case failed(UpstreamBreak, written: Bool)
    /// The app is gone, and nothing keeps the answer for it.
    case clientLeft
    /// The time for the call is over.
    case deadline
  }

  /// What is to be done.
  package enum Action: Sendable, Equatable {
    /// Answer with this head; content follows by `forward` and ends by `finish` or `cut`.
    case answerHead(status: Int, fields: HTTPFields)
    /// Octets of the answer's content.
    case forward([UInt8])
    /// The answer is complete.
    case finish
    /// Break the answer off, so that the app sees that it is not complete.
    case cut
    /// Answer with this error as a whole.
    case answerError(ProviderError)
    /// Give the exchange with the provider up.
    case cancelUpstream
    /// End the reservation.
    case settle(CallSettlement)
    /// Tell the operator.
    case alarm(ProxyAlarm)
  }

  private enum Phase: Sendable {
    case waiting
    case streaming(streamed: Bool)
    case failing(status: Int, fields: HTTPFields, body: [UInt8])
    case over
  }

  /// The most octets that are read of a non-2xx answer.
  private static let errorLimit = 65_536

  private let provider: any Provider
  private let call: PreparedCall
  private let scrubber: SecretScrubber
  private var filter: SecretFilter
  private var answerFilter: (any AnswerFilter)?
  private var meter: (any UsageMeter)?
  private var phase = Phase.waiting
  private var written = false

  /// - Parameter secrets: the octets that no answer may hold: the provider's credentials.
  package init(call: PreparedCall, provider: any Provider, secrets: [[UInt8]]) {
    self.call = call
    self.provider = provider
    filter = SecretFilter(secrets: secrets)
    scrubber = SecretScrubber(secrets: secrets)
  }

  /// Whether the call is settled and the answer ended.
  package var isOver: Bool { if case .over = phase { true } else { false } }

  /// What to do after this happened.
  package mutating func received(_ event: Event) -> [Action] {
    switch event {
    case .requestWritten:
      written = true
      return []
    case .head(let status, let fields): return head(status: status, fields: fields)
    case .chunk(let octets): return chunk(octets)
    case .ended: return ended()
    case .failed(let reason, let wasWritten):
      written = written || wasWritten
      return failed(reason)
    case .clientLeft: return abandoned(answer: nil)
    case .deadline:
      return abandoned(
        answer: ProviderError(
          status: 504, type: "timeout_error", code: "upstream_timeout",
          message: "The AI provider did not answer in time."))
    }
  }

  private mutating func head(status: Int, fields: HTTPFields) -> [Action] {
    guard case .waiting = phase, status >= 200 else { return [] }
    written = true
    guard status < 300 else {
      phase = .failing(status: status, fields: fields, body: [])
      return []
    }
    if let coding = fields["content-encoding"], !HTTPFields.same(coding, "identity") {
      return refuseAnswer(.encodedAnswer)
    }
    let streamed: Bool
    switch MediaType.essence(fields["content-type"] ?? "") {
    case "text/event-stream": streamed = true
    case "application/json": streamed = false
    default: return refuseAnswer(.unexpectedContent)
    }
    phase = .streaming(streamed: streamed)
    meter = provider.meter(for: call, streamed: streamed, fields: fields)
    answerFilter = provider.filter(for: call, streamed: streamed)
    let passing = provider.answerFields(fields).lines.filter { !scrubber.holdsSecret($0.value) }
    return [.answerHead(status: status, fields: HTTPFields(passing.map { ($0.name, $0.value) }))]
  }

  /// A 2xx answer that cannot be read: it may have been billed, and nothing of it is known.
  private mutating func refuseAnswer(_ alarm: ProxyAlarm) -> [Action] {
    phase = .over
    let error = ProviderError(
      status: 502, type: "api_error", code: "upstream_failed",
      message: "The AI provider's answer could not be read.", fields: ["x-should-retry": "false"])
    return [.cancelUpstream, .settle(call.atReserve), .alarm(alarm), .answerError(error)]
  }

  private mutating func chunk(_ octets: [UInt8]) -> [Action] {
    switch phase {
    case .waiting, .over: return []
    case .failing(let status, let fields, var body):
      let room = Self.errorLimit - body.count
      body.append(contentsOf: octets.prefix(room))
      phase = .failing(status: status, fields: fields, body: body)
      return octets.count > room ? [.cancelUpstream] + judged(status, fields, body) : []
    case .streaming(let streamed):
      meter?.read(octets)
      guard let passed = filter.pass(answerFilter?.pass(octets) ?? octets) else {
        return secretFound(streamed: streamed)
      }
      return passed.isEmpty ? [] : [.forward(passed)]
    }
  }

  private mutating func ended() -> [Action] {
    switch phase {
    case .over: return []
    case .waiting:
      written = true
      return failed(.protocolError)
    case .failing(let status, let fields, let body): return judged(status, fields, body)
    case .streaming(let streamed):
      guard let last = filter.pass(answerFilter?.end() ?? []) else { return secretFound(streamed: streamed) }
      let rest = last + filter.end()
      let forwarded: [Action] = rest.isEmpty ? [] : [.forward(rest)]
      let reading = meter?.reading ?? MeterReading()
      let isUnread = call.price != nil && reading.completeness != .final
      let alarm: [Action] = isUnread ? [.alarm(.usageUnreadable(model: call.model))] : []
      return forwarded + settled(reading, streamed: streamed) + alarm + [.finish]
    }
  }

  private mutating func secretFound(streamed: Bool) -> [Action] {
    [.cut, .cancelUpstream, .alarm(.secretInAnswer)]
      + settled(meter?.reading ?? MeterReading(), streamed: streamed)
  }

  private mutating func judged(_ status: Int, _ fields: HTTPFields, _ body: [UInt8]) -> [Action] {
    phase = .over
    let readable = fields["content-encoding"].map { HTTPFields.same($0, "identity") } ?? true
    let failure = provider.judge(
      status: status, fields: fields, body: readable ? body : [], scrubber: scrubber)
    return [.settle(call.settlement(of: failure))] + (failure.alarm.map { [.alarm($0)] } ?? []) + [
      .answerError(failure.error)
    ]
  }

  private mutating func failed(_ reason: UpstreamBreak) -> [Action] {
    switch phase {
    case .over: return []
    case .streaming(let streamed):
      return settled(meter?.reading ?? MeterReading(), streamed: streamed) + [.cut]
    case .failing(let status, let fields, let body):
      // The head was read: what it said holds.
      return judged(status, fields, body)
    case .waiting:
      phase = .over
      let settlement =
        written ? call.atReserve : CallSettlement(outcome: .released(giveBackCount: true))
      return [.settle(settlement), .answerError(reason.error(retry: !written))]
    }
  }

  private mutating func abandoned(answer: ProviderError?) -> [Action] {
    switch phase {
    case .over: return []
    case .streaming(let streamed):
      return [.cut, .cancelUpstream] + settled(meter?.reading ?? MeterReading(), streamed: streamed)
    case .failing(let status, let fields, let body):
      let actions = [.cancelUpstream] + judged(status, fields, body)
      return answer == nil ? actions.filter { !$0.isAnswer } : actions
    case .waiting:
      phase = .over
      let settlement = written ? call.atReserve : CallSettlement(outcome: .released(giveBackCount: false))
      return [.cancelUpstream, .settle(settlement)] + (answer.map { [.answerError($0)] } ?? [])
    }
  }

  private mutating func settled(_ reading: MeterReading, streamed: Bool) -> [Action] {
    phase = .over
    let settlement = call.settlement(of: reading, streamed: streamed)
    guard settlement.cost > call.reserve else { return [.settle(settlement)] }
    return [
      .settle(settlement),
      .alarm(.costAboveReserve(model: call.model, cost: settlement.cost, reserve: call.reserve)),
    ]
  }
}

extension ProxyState.Action {
  fileprivate var isAnswer: Bool { if case .answerError = self { true } else { false } }
}
