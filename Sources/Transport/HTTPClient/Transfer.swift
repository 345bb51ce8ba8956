import HTTPMessages
import System

/// One request and its response; belongs to the loop's thread.
///
/// libcurl's callbacks note what comes and answer at once. What removes the handle from libcurl
/// (``finish(_:)``) never runs inside a callback.
final class Transfer: @unchecked Sendable {
  enum Outcome {
    case complete
    case failed(any Error)
  }

  let loop: EventLoop
  let request: OutgoingRequest
  let configuration: HTTPClientConfiguration
  private let connections: CurlConnections

  private(set) var easy: EasyHandle?
  private(set) var outcome: Outcome?
  /// Why a callback told libcurl to give up.
  private var failure: HTTPClientError?
  /// Whether libcurl has had a connection to write the request to.
  private var requestBegan = false
  private let upload: RequestUpload?
  private var sendPaused = false

  private var head: IncomingHead
  private var headContinuation: CheckedContinuation<HTTPResponse, any Error>?
  private var buffer: [UInt8] = []
  private var receivePaused = false
  private var chunkContinuation: CheckedContinuation<[UInt8]?, any Error>?

  private var started = MonotonicTime.now
  private var progress = MonotonicTime.now
  private var timer: EventLoop.Timer?

  init(_ request: OutgoingRequest, over connections: CurlConnections) {
    self.request = request
    self.connections = connections
    loop = connections.loop
    configuration = connections.configuration
    upload = request.form == .upload ? RequestUpload(request.body) : nil
    head = IncomingHead(limit: configuration.maximumHeadSize)
  }

  // MARK: Beginning and end

  func start(_ continuation: CheckedContinuation<HTTPResponse, any Error>) {
    headContinuation = continuation
    // Cancelled before it began.
    if outcome != nil { return answerHead(.failure(HTTPClientError.cancelled(requestWritten: false))) }
    guard let easy = connections.begin(self) else {
      return finish(.failed(HTTPClientError.stopped(requestWritten: false)))
    }
    self.easy = easy
    arm()
  }

  /// The asker, or the reader of the body, does not want it any more.
  func cancel() {
    if headContinuation != nil {
      finish(.failed(HTTPClientError.cancelled(requestWritten: requestBegan)))
    } else {
      buffer = []
      finish(.failed(CancellationError()))
    }
  }

  /// The client is stopped.
  func stop() { finish(.failed(HTTPClientError.stopped(requestWritten: requestBegan))) }

  /// libcurl is done with it; nil is success.
  func completed(_ error: CurlFailure?) {
    if let error {
      configuration.diagnose?(request.authority, error.text)
      finish(.failed(failure ?? error.meaning(requestBegan: requestBegan)))
    } else if head.isComplete {
      finish(.complete)
    } else {
      finish(.failed(HTTPClientError.invalidResponse))
    }
  }

  private func finish(_ outcome: Outcome) {
    guard self.outcome == nil else { return }
    self.outcome = outcome
    timer?.cancel()
    timer = nil
    let isSound = if case .complete = outcome { true } else { false }
    if let easy { connections.remove(easy, isSound: isSound) }
    easy = nil
    upload?.stop()
    if case .failed(let error) = outcome { answerHead(.failure(error)) }
    if let continuation = chunkContinuation {
      chunkContinuation = nil
      continuation.resume(with: end)
    }
  }

  private func answerHead(_ result: Result<HTTPResponse, any Error>) {
    headContinuation?.resume(with: result)
    headContinuation = nil
  }

  /// What the reader gets after the last octet.
  private var end: Result<[UInt8]?, any Error> {
    if case .failed(let error) = outcome { .failure(error) } else { .success(nil) }
  }

  // MARK: The reader of the body

  /// What is at hand, without waiting; nil where nothing is.
  func takeBuffered() -> [UInt8]? {
    guard !buffer.isEmpty else { return nil }
    let chunk = buffer
    buffer = []
    resumeReceiving()
    return chunk
  }

  func pull(_ continuation: CheckedContinuation<[UInt8]?, any Error>) {
    if let chunk = takeBuffered() { return continuation.resume(returning: chunk) }
    if outcome != nil { return continuation.resume(with: end) }
    precondition(chunkContinuation == nil, "two tasks pull one body")
    chunkContinuation = continuation
    resumeReceiving()
  }

  private func resumeReceiving() {
    guard receivePaused else { return }
    receivePaused = false
    progress = .now
    // libcurl may call back with what it kept, and even pause again, before this returns.
    continueTransfer()
  }

  private func continueTransfer() {
    guard let easy else { return }
    if let error = easy.pause(sending: sendPaused, receiving: receivePaused) { completed(error) }
  }

  // MARK: Deadlines

  /// One timer looks after all of them. Octets only note the time, so that they cost no timer.
  private func arm() {
    let limit = head.isComplete ? configuration.idleTimeout : configuration.headTimeout
    let due = min(started + configuration.totalTimeout, progress + limit)
    let delay = max(.zero, due - .now)
    if let timer {
      timer.reschedule(after: delay)
    } else {
      timer = loop.scheduleOnLoop(after: delay) { [weak self] in self?.checkDeadlines() }
    }
  }

  private func checkDeadlines() {
    let now = MonotonicTime.now
    if now >= started + configuration.totalTimeout {
      return finish(.failed(HTTPClientError.timedOut(requestBegan ? .total : .connect)))
    }
    if head.isComplete {
      // Waiting for the reader is not the other server's fault.
      if receivePaused || !buffer.isEmpty { progress = now }
      if now >= progress + configuration.idleTimeout {
        return finish(.failed(HTTPClientError.timedOut(.idle)))
      }
    } else if now >= progress + configuration.headTimeout {
      return finish(.failed(HTTPClientError.timedOut(requestBegan ? .head : .connect)))
    }
    arm()
  }
}

// MARK: - What libcurl's callbacks tell

extension Transfer {
  /// A connection stands and the request is about to be written; false to give up. libcurl begins anew when a
  /// kept connection proves dead, which only a request that may be repeated survives.
  func requestBegins() -> Bool {
    if requestBegan && !request.isRepeatable {
      failure = .interrupted
      return false
    }
    requestBegan = true
    progress = .now
    return true
  }

  /// An address was refused.
  func refusedAddress() { failure = .addressForbidden }

  /// One line of the head; false to give up.
  func received(line: [UInt8]) -> Bool {
    switch head.read(line) {
    case .more: return true
    case .invalid:
      failure = .invalidResponse
      return false
    case .complete: break
    }
    let toHead = request.form == .head
    let body =
      head.hasNoBody(toHead: toHead)
      ? HTTPBody.empty : HTTPBody(stream: ResponseBody(self), length: head.length)
    progress = .now
    arm()
    answerHead(
      .success(HTTPResponse(status: head.status, fields: head.passedFields(toHead: toHead), body: body)))
    return true
  }

  /// Octets of the body; false to pause, which makes libcurl bring them again.
  func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
    progress = .now
    if let continuation = chunkContinuation {
      chunkContinuation = nil
      continuation.resume(returning: unsafe Array(bytes))
    } else if buffer.count < configuration.bodyBuffer {
      unsafe buffer.append(contentsOf: bytes)
    } else {
      receivePaused = true
      return false
    }
    return true
  }

  /// Octets of the request's body.
  func supply(into space: UnsafeMutableRawBufferPointer) -> RequestUpload.Supply {
    guard let upload else { return .end }
    progress = .now
    let supply = unsafe upload.supply(into: space, on: loop) { [weak self] in self?.resumeSending() }
    switch supply {
    case .wait: sendPaused = true
    case .broken: failure = .requestBody
    case .octets, .end: break
    }
    return supply
  }

  private func resumeSending() {
    guard sendPaused else { return }
    sendPaused = false
    progress = .now
    continueTransfer()
  }
}
