import BramleyAPI
import Encodings
import Gateway
import HTTPMessages
import Synchronization

/// One admitted call: runs the ``ProxyState``, whatever happens in whatever order.
///
/// It is an actor since two come to it: the task that pulls the answer, and whoever notices that the client
/// left.
actor ProviderCall {
  fileprivate let context: CallContext
  private let target: ProviderTarget
  private let call: PreparedCall
  private let errors: ErrorStyle
  private var state: ProxyState
  private var upstream: (any HTTPBodyStream)?
  private var ready: [[UInt8]] = []
  private var finished = false
  private var broken = false
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
  init(
    _ call: PreparedCall, target: ProviderTarget, context: CallContext, errors: ErrorStyle? = nil,
    holdsSettlement: Bool = false
  ) {
    self.holdsSettlement = holdsSettlement
    self.call = call
    self.errors = errors ?? target.errors
    self.target = target
    self.context = context
    state = ProxyState(call: call, provider: target.provider, secrets: target.secrets)
  }

  /// Sends the request and waits for the head of the answer.
  func start() async throws -> HTTPResponse {
    let answer: HTTPResponse
    do {
      answer = try await send()
    } catch {
      let failure = UpstreamError(error)
      if failure.isCancelled {
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
    upstream?.cancel()
    guard !state.isOver else { return }
    let actions = state.received(.clientLeft)
    context.environment.background { [self] in _ = await perform(actions) }
  }

  /// One attempt, and a second where not one octet of the first was written.
  private func send() async throws -> HTTPResponse {
    do {
      return try await context.environment.upstream.respond(to: target.request(call))
    } catch {
      let failure = UpstreamError(error)
      guard !failure.written, !failure.isCancelled, !Task.isCancelled else { throw error }
      return try await context.environment.upstream.respond(to: target.request(call))
    }
  }

  /// Does what the state says; the answer where there is one to give.
  private func perform(_ actions: [ProxyState.Action]) async -> HTTPResponse? {
    var response: HTTPResponse?
    for action in actions {
      switch action {
      case .answerHead(let status, let fields):
        self.status = status
        await context.health.answered(status, keyID: context.keyID, now: context.environment.now())
        response = HTTPResponse(status: status, fields: fields)
      case .forward(let octets):
        if firstByte == nil { firstByte = context.elapsed }
        ready.append(octets)
      case .finish: finished = true
      case .cut: broken = true
      case .answerError(let error):
        status = error.status
        code = ErrorCode(rawValue: error.code)
        await context.health.answered(status, keyID: context.keyID, now: context.environment.now())
        response = errors.response(Failure(error), requestID: context.requestID)
      case .cancelUpstream: upstream?.cancel()
      case .settle(let settlement):
        settled = settlement
        if holdsSettlement, actions.contains(.finish) {
          held = (settlement, Self.alarms(actions))
          continue
        }
        await context.settle(
          settlement, status: Self.status(status, actions), firstByte: firstByte,
          alarms: Self.alarms(actions))
      case .alarm(let alarm): context.alarm(alarm)
      }
    }
    return response
  }

  /// Books what ``holdsSettlement`` held back. A process that ends before leaves its lease to the sweep.
  func settleHeld() async {
    guard let held else { return }
    self.held = nil
    await context.settle(held.settlement, status: status, firstByte: firstByte, alarms: held.alarms)
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
    response.body = HTTPBody(stream: AnswerBody(self), length: call.hidesUsage ? nil : length)
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
    context.environment.background { [self] in await clientLeft() }
  }
}
