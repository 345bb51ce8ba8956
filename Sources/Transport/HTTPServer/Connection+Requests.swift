import HTTPMessages
import System

extension Connection {
  /// Answers one request after the other until the connection is to end.
  func serve() async {
    while let head = await nextHead() {
      guard await answer(head) else { return }
      // Others have their turn between two requests that came together.
      if !input.isEmpty { await Task.yield() }
    }
  }

  // MARK: Requests

  private func nextHead() async -> HTTPRequestHead? {
    let begin = MonotonicTime.now
    var deadline = begin + configuration.idleTimeout
    isIdle = true
    while !hasLeft {
      if !input.isEmpty {
        if isIdle { deadline = MonotonicTime.now + configuration.headTimeout }
        isIdle = false
        switch parser.next(&input) {
        case .head(let head): return head
        case .refused(let refusal):
          await end(with: .problem(refusal.status, refusal.reason))
          return nil
        case .content, .end, nil: break
        }
      } else if server.isStopping {
        // A request that has arrived is the last one; none is waited for.
        if read() { continue }
        return nil
      }
      input.release()
      switch await fill(until: deadline) {
      case .ready, .cancelled: continue
      case .timedOut:
        if !isIdle { await end(with: .problem(408, "the request head came too slowly")) }
        return nil
      case .left, .busy: return nil
      }
    }
    return nil
  }

  /// Says a last thing to a peer whose request was not understood.
  private func end(with response: HTTPResponse) async {
    isRefused = true
    _ = await send(response, to: HTTPRequestHead(), keeping: false)
  }

  /// Whether another request may follow.
  private func answer(_ head: HTTPRequestHead) async -> Bool {
    let body = takeBody(head)
    server.loop.engage()
    defer {
      server.loop.disengage()
      content?.detach()
      content = nil
    }
    let request = HTTPRequest(
      method: head.method, authority: head.authority, target: head.target, fields: head.fields, body: body,
      peer: peer)
    var response: HTTPResponse
    var keeps = head.keepsAlive
    do {
      response = try await server.handler.respond(to: request)
    } catch {
      if hasLeft { return false }
      (response, keeps) = answer(to: error, keeping: keeps)
    }
    if let refusal = content?.refusal, response.status < 400 || response.status == 500 {
      drop(response)
      response = .problem(refusal.status, refusal.reason)
    }
    return await send(response, to: head, keeping: keeps)
  }

  private func takeBody(_ head: HTTPRequestHead) -> HTTPBody {
    if let octets = parser.takeAnnouncedContent(&input) { return HTTPBody(octets) }
    var length: Int?
    if case .length(let announced) = head.framing { length = announced }
    let content = RequestContent(self, length: length, awaitsContinue: head.expectsContinue)
    self.content = content
    return HTTPBody(stream: content, length: length)
  }

  private func answer(to error: any Error, keeping keeps: Bool) -> (HTTPResponse, Bool) {
    switch error {
    case HTTPBodyError.tooLarge(let limit):
      return (.problem(413, "this route takes at most \(limit) octets of content"), false)
    case HTTPBodyError.timedOut: return (.problem(408, "the content came too slowly"), false)
    case HTTPBodyError.incomplete:
      let reason = content?.refusal?.reason ?? "the content ended too early"
      return (.problem(400, reason), false)
    default:
      configuration.onFailure(error)
      return (.problem(500, "the server failed"), keeps)
    }
  }

  // MARK: Responses

  /// Sends the response; whether another request may follow.
  private func send(_ response: HTTPResponse, to head: HTTPRequestHead, keeping: Bool) async -> Bool {
    var response = response
    var closes = !keeping || server.isStopping || cannotDrain
    if let option = response.fields["Connection"], HTTPFields.same(option, "close") { closes = true }
    let written: ResponseHead
    do throws(ResponseHead.Flaw) {
      written = try makeHead(response, head, closes)
    } catch {
      configuration.onFailure(error)
      drop(response)
      response = .problem(500, "the server failed")
      guard let plain = try? makeHead(response, head, closes) else { return false }
      written = plain
    }
    if written.framing == .untilClose { closes = true }
    isAnswering = true
    defer { isAnswering = false }
    guard await send(response.body, after: written) else { return false }
    if !closes { closes = await !drain() }
    if closes { await linger() }
    return !closes
  }

  private func makeHead(
    _ response: HTTPResponse, _ head: HTTPRequestHead, _ closes: Bool
  ) throws(ResponseHead.Flaw) -> ResponseHead {
    try ResponseHead(
      response, toHead: head.method == .head, isOldVersion: head.isOldVersion,
      closes: closes, date: server.dateLine)
  }

  private func send(_ body: HTTPBody, after head: ResponseHead) async -> Bool {
    switch body.content {
    case .bytes(let octets):
      guard head.hasContent, !octets.isEmpty else { return await send(head.octets) }
      if octets.count <= 65_536 { return await send(head.with(octets)) }
      guard await send(head.octets) else { return false }
      return await send(octets)
    case .stream(let stream, _):
      // The head waits for no piece longer than this turn: the peer may wait long for the first one.
      guard await sendSoon(head.octets), head.hasContent else {
        stream.cancel()
        return !hasLeft
      }
      outgoing = stream
      defer { outgoing = nil }
      if await send(stream, head.framing) { return true }
      stream.cancel()
      // Without an announced end only a reset tells the peer that this is not all.
      if head.framing == .untilClose { resets = true }
      return false
    }
  }

  /// Passes piece after piece, each when the one before is out; false where the source or the peer breaks off.
  private func send(_ stream: any HTTPBodyStream, _ framing: ResponseHead.Framing) async -> Bool {
    var remaining = Int.max
    if case .length(let length) = framing { remaining = length }
    var pieces = 0
    do {
      while let piece = try await stream.next() {
        if hasLeft || piece.count > remaining { return false }
        if piece.isEmpty { continue }
        remaining -= piece.count
        guard await send(framing == .chunked ? Self.chunk(piece) : piece) else { return false }
        pieces += 1
        // A source that never waits leaves the others their turn.
        if pieces % 16 == 0 { await Task.yield() }
      }
    } catch {
      if !hasLeft { configuration.onFailure(error) }
      return false
    }
    switch framing {
    case .chunked: return await send(Array("0\r\n\r\n".utf8))
    case .length: return remaining == 0
    case .none, .untilClose: return !hasLeft
    }
  }

  private static func chunk(_ piece: [UInt8]) -> [UInt8] {
    var octets: [UInt8] = []
    octets.reserveCapacity(piece.count + 20)
    octets.append(contentsOf: String(piece.count, radix: 16).utf8)
    octets.append(0x0D)
    octets.append(0x0A)
    octets.append(contentsOf: piece)
    octets.append(0x0D)
    octets.append(0x0A)
    return octets
  }

  private func drop(_ response: HTTPResponse) {
    if case .stream(let stream, _) = response.body.content { stream.cancel() }
  }

  // MARK: Content that nobody wanted

  /// Whether what is left of the request's content is surely not worth reading.
  private var cannotDrain: Bool {
    guard let content, !content.isComplete else { return false }
    if content.refusal != nil || content.awaitsContinue { return true }
    return content.length.map { $0 - content.received > configuration.drainLimit } ?? false
  }

  /// Reads the rest of the request's content; false where that takes too much.
  private func drain() async -> Bool {
    guard let content else { return true }
    var drained = 0
    do {
      while let piece = try await content.pull(draining: true) {
        drained += piece.count
        if drained > configuration.drainLimit { return false }
      }
      return true
    } catch {
      return false
    }
  }

  /// Reads on for a while after the last answer: closing a socket that has unread octets would reset it, and the
  /// answer could be lost (RFC 9112 §9.6).
  private func linger() async {
    guard isRefused || content?.isComplete == false || hasUnread else { return }
    endSending()
    let deadline = MonotonicTime.now + configuration.lingerTimeout
    var count = 0
    while count <= configuration.lingerLimit {
      input.drop(input.count)
      guard await fill(until: deadline) == .ready else { return }
      count += input.count
    }
  }
}
