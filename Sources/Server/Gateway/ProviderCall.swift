import Admission
import BramleyAPI
import Encodings
import Gateway
import HTTPMessages
import Synchronization
import UserData

/// One admitted call: runs the ``ProxyState``, whatever happens in whatever order.
///
/// It is an actor since two come to it: the task that pulls the answer, and whoever notices that the client
/// left.
actor ProviderCall {
  fileprivate nonisolated let environment: Environment
  private let errors: ErrorStyle
  /// The call that is made.
  private var current: AdmittedCall
  private var state: ProxyState
  /// Who may be asked instead as long as nothing was answered and nothing costs anything.
  private var fallbacks: [AdmittedCall]
  /// Who is asked next.
  private var next: AdmittedCall?
  /// The providers that were asked before.
  private var asked: Set<String> = []
  private var upstream: (any HTTPBodyStream)?
  private var ready: [[UInt8]] = []
  private var finished = false
  private var broken = false
  private var isLeft = false
  private var status = 0
  /// The code of the error that was answered.
  private(set) var code: ErrorCode?
  private var firstByte: Int64?
  /// How it was settled; nil as long as it was not.
  private(set) var settled: CallSettlement?
  /// Whether the settlement of an answer that came whole waits for ``settleHeld()``.
  private let holdsSettlement: Bool
  private var held: (settlement: CallSettlement, alarms: [ProxyAlarm])?

  /// - Parameters:
  ///   - errors: how errors are written; nil for the provider's way.
  ///   - holdsSettlement: whoever reads the answer to its end calls ``settleHeld()``, whatever happens.
  init(_ chain: AdmittedChain, errors: ErrorStyle? = nil, holdsSettlement: Bool = false) {
    self.holdsSettlement = holdsSettlement
    environment = chain.first.context.environment
    self.errors = errors ?? chain.first.target.errors
    current = chain.first
    state = ProxyState(chain.first)
    fallbacks = chain.fallbacks
  }

  private var context: CallContext { current.context }

  /// Which link of the chain answers.
  var place: Int { current.place }

  /// Sends the request and waits for the head of the answer, of whoever gives one.
  func start() async throws -> HTTPResponse {
    while true {
      let response = try await attempt()
      guard let next else { return response }
      turn(to: next)
    }
  }

  private func turn(to next: AdmittedCall) {
    context.metrics.fallbacks[context.provider].add()
    context.log.info(
      "fell_back",
      [
        ("request_id", .string(context.requestID)), ("provider", .string(context.provider)),
        ("model", .string(context.model)), ("status", .integer(status)),
        ("next", .string(next.context.provider)),
      ])
    asked.insert(context.provider)
    current = next
    state = ProxyState(next)
    (self.next, upstream, code, status) = (nil, nil, nil, 0)
  }

  private func attempt() async throws -> HTTPResponse {
    let answer: HTTPResponse
    do {
      answer = try await send()
    } catch {
      let failure = UpstreamError(error)
      if failure.isCancelled {
        isLeft = true
        let written = failure.written ? state.received(.requestWritten) : []
        _ = await perform(written + state.received(.clientLeft))
        throw CancellationError()
      }
      return await perform(state.received(.failed(failure.reason, written: failure.written))) ?? unanswered
    }
    let stream = answer.body.pulled
    upstream = stream
    if let response = await perform(state.received(.head(status: answer.status, fields: answer.fields))) {
      return begin(response, length: answer.body.length)
    }
    // An answer that is no success: its content is read before anything is said.
    do {
      while let chunk = try await stream.next() {
        if let response = await perform(state.received(.chunk(chunk))) { return response }
      }
      return await perform(state.received(.ended)) ?? unanswered
    } catch {
      let failure = UpstreamError(error)
      if failure.isCancelled {
        isLeft = true
        _ = await perform(state.received(.clientLeft))
        throw CancellationError()
      }
      return await perform(state.received(.failed(failure.reason, written: true))) ?? unanswered
    }
  }

  /// The next octets of the answer; nil at its end. Throws where it is cut.
  func next() async throws -> [UInt8]? {
    while true {
      if !ready.isEmpty { return ready.removeFirst() }
      if broken { throw HTTPBodyError.incomplete }
      if finished || state.isOver { return nil }
      guard let upstream else { return nil }
      do {
        if let chunk = try await upstream.next() {
          _ = await perform(state.received(.chunk(chunk)))
        } else {
          _ = await perform(state.received(.ended))
        }
      } catch {
        let failure = UpstreamError(error)
        if failure.isCancelled {
          clientLeft()
          throw CancellationError()
        }
        _ = await perform(state.received(.failed(failure.reason, written: true)))
      }
    }
  }

  /// The client is gone: the provider is told to stop, and what it did is booked. The booking is none of the
  /// cancelled task's business.
  func clientLeft() {
    isLeft = true
    upstream?.cancel()
    guard !state.isOver else { return }
    let actions = state.received(.clientLeft)
    environment.background { [self] in _ = await perform(actions) }
  }

  /// One attempt, and a second where not one octet of the first was written.
  private func send() async throws -> HTTPResponse {
    do {
      return try await environment.upstream.respond(to: current.target.request(current.call))
    } catch {
      let failure = UpstreamError(error)
      guard !failure.written, !failure.isCancelled, !Task.isCancelled else { throw error }
      return try await environment.upstream.respond(to: current.target.request(current.call))
    }
  }

  /// Does what the state says; the answer where there is one to give.
  private func perform(_ actions: [ProxyState.Action]) async -> HTTPResponse? {
    var response: HTTPResponse?
    for action in actions {
      switch action {
      case .answerHead(let status, let fields):
        self.status = status
        await context.health.answered(status, keyID: context.keyID, now: environment.now())
        response = HTTPResponse(status: status, fields: fields)
      case .forward(let octets):
        if firstByte == nil { firstByte = context.elapsed }
        ready.append(octets)
      case .finish: finished = true
      case .cut: broken = true
      case .answerError(let error):
        status = error.status
        code = ErrorCode(rawValue: error.code)
        await context.health.answered(status, keyID: context.keyID, now: environment.now())
        response = errors.response(context.failure(error, errors), requestID: context.requestID)
      case .cancelUpstream: upstream?.cancel()
      case .settle(let settlement):
        if await yields(settlement) { continue }
        settled = settlement
        if holdsSettlement, actions.contains(.finish) {
          held = (settlement, Self.alarms(actions))
          continue
        }
        await context.settle(
          settlement, status: Self.status(status, actions), firstByte: firstByte,
          alarms: Self.alarms(actions), asked: asked)
      case .alarm(let alarm): context.alarm(alarm)
      }
    }
    return response
  }

  /// What ``settleHeld()`` will book, for the step that keeps what the call made; nil where nothing is held back.
  var spendingNote: SpendingNote? {
    guard let held else { return nil }
    let row = context.row(
      held.settlement, status: status, firstByte: firstByte, alarms: held.alarms, asked: asked)
    return SpendingNote(reservation: row.id, ending: ReservationEnding.known(row).octets)
  }

  /// Books what ``holdsSettlement`` held back. Of a process that ends before, the sweep books it, as the
  /// ``spendingNote`` says or else at the hold.
  func settleHeld() async {
    guard let held else { return }
    self.held = nil
    await context.settle(
      held.settlement, status: status, firstByte: firstByte, alarms: held.alarms, asked: asked)
  }

  /// Whether another is asked in this one's stead. That is so only where the provider itself failed and bills nothing,
  /// and then nothing was answered either: the whole hold stays for the next (RULES §5.6).
  private func yields(_ settlement: CallSettlement) async -> Bool {
    guard settlement.outcome == .released(giveBackCount: true), !isLeft, !Task.isCancelled else {
      return false
    }
    while !fallbacks.isEmpty {
      let candidate = fallbacks.removeFirst()
      if case .refused = await candidate.target.health.admit(now: environment.now()) { continue }
      next = candidate
      return true
    }
    return false
  }

  /// The status that the device gets: an error stands behind the settlement.
  private static func status(_ known: Int, _ actions: [ProxyState.Action]) -> Int {
    for action in actions { if case .answerError(let error) = action { return error.status } }
    return known == 0 ? 499 : known
  }

  private static func alarms(_ actions: [ProxyState.Action]) -> [ProxyAlarm] {
    actions.compactMap { if case .alarm(let alarm) = $0 { alarm } else { nil } }
  }

  private func begin(_ head: HTTPResponse, length: Int?) -> HTTPResponse {
    guard !state.isOver else { return head }
    var response = head
    // What is taken out on the way makes it shorter than the provider said.
    response.body = HTTPBody(stream: AnswerBody(self), length: current.call.hidesUsage ? nil : length)
    return response
  }

  /// The state always answers; a client must never wait for a mistake of ours.
  private var unanswered: HTTPResponse {
    errors.response(
      Failure(502, .upstreamUnavailable, "The AI provider's answer cannot be passed on."),
      requestID: context.requestID)
  }
}

/// The answer's content as the server pulls it.
private final class AnswerBody: HTTPBodyStream {
  private let call: ProviderCall
  private let ended = Atomic<Bool>(false)

  init(_ call: ProviderCall) { self.call = call }

  deinit { cancel() }

  func next() async throws -> [UInt8]? {
    let chunk = try await call.next()
    if chunk == nil { ended.store(true, ordering: .releasing) }
    return chunk
  }

  func cancel() {
    guard !ended.exchange(true, ordering: .acquiringAndReleasing) else { return }
    call.leave()
  }
}

extension ProviderCall {
  /// Tells the call, from wherever, that nobody reads on.
  nonisolated func leave() {
    environment.background { [self] in await clientLeft() }
  }
}

extension ProxyState {
  fileprivate init(_ admitted: AdmittedCall) {
    self.init(call: admitted.call, provider: admitted.target.provider, secrets: admitted.target.secrets)
  }
}
