import Glibc
import HTTPMessages
import System

/// One connection: its socket, its buffers and the waits for them. It belongs to its loop's thread.
///
/// What it says and in which order is in `Connection+Requests.swift`.
final class Connection: @unchecked Sendable {
  /// How a wait ended. Any wait may be `cancelled` for no reason that holds any more: look, and wait again.
  enum Wake { case ready, timedOut, cancelled, left, busy }

  @safe private struct Waiter {
    let continuation: UnsafeContinuation<Wake, Never>
    let deadline: MonotonicTime
  }

  /// The server's part on this loop.
  let server: ServerLoop
  /// The address of the peer.
  let peer: String
  /// Octets that were read and belong to no request yet.
  var input = ByteQueue()
  var parser: HTTPRequestParser
  /// What the request that is answered has of content.
  var content: RequestContent?
  /// What is sent at the moment.
  var outgoing: (any HTTPBodyStream)?
  /// An answer has begun, so that nothing may be said in between.
  var isAnswering = false
  /// The octets of the peer were no request; more of them may come.
  var isRefused = false
  /// No request is under way, not even a part of one.
  var isIdle = true
  /// The peer left, or the connection was given up.
  private(set) var hasLeft = false
  /// The peer is not to take what is unsent for a whole answer: the connection is reset instead of ended.
  var resets = false

  private let descriptor: Int32
  private var registration: EventLoop.Registration?
  private var task: Task<Void, Never>?
  private var canRead = false
  private var canWrite = true
  private var reader: Waiter?
  private var writer: Waiter?
  /// Octets that leave with those that follow, at the latest when this turn of the loop ends.
  private var held: [UInt8] = []
  private var heldDeadline = MonotonicTime.now

  var configuration: HTTPServer.Configuration { server.configuration }

  init(_ descriptor: Int32, peer: String, on server: ServerLoop) {
    self.descriptor = descriptor
    self.peer = peer
    self.server = server
    parser = HTTPRequestParser(
      headLimit: server.configuration.headLimit, fieldLimit: server.configuration.fieldLimit)
  }

  /// Begins to serve; false where the loop cannot watch the socket, which is closed then.
  func start() -> Bool {
    do {
      registration = try server.loop.register(
        descriptor, [.readable, .writable, .peerClosed, .changes]
      ) { [self] in ready($0) }
    } catch {
      Glibc.close(descriptor)
      return false
    }
    task = server.loop.run {
      await self.serve()
      self.close()
    }
    return true
  }

  private func close() {
    sendHeld()
    hasLeft = true
    if let registration { server.loop.deregister(registration) }
    registration = nil
    if resets {
      var option = linger(l_onoff: 1, l_linger: 0)
      let size = socklen_t(MemoryLayout<linger>.size)
      _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, size)
    }
    Glibc.close(descriptor)
    task = nil
    server.ended(self)
  }

  // MARK: What happens to it

  private func ready(_ readiness: EventLoop.Readiness) {
    // A peer that sends no more has left: whoever wants the answer keeps its side open.
    if !readiness.isDisjoint(with: [.peerClosed, .hangUp, .error]) { return abort() }
    if readiness.contains(.readable) {
      canRead = true
      wakeReader(.ready)
    }
    if readiness.contains(.writable) {
      canWrite = true
      sendHeld()
      wakeWriter(.ready)
    }
  }

  /// Gives the connection up: the handler is cancelled, and nothing more is said.
  func abort() {
    guard !hasLeft else { return }
    hasLeft = true
    outgoing?.cancel()
    task?.cancel()
    wakeReader(.left)
    wakeWriter(.left)
  }

  /// Ends the connection now if no request is under way; else the running one is the last.
  func endWhenIdle() { if isIdle { wakeReader(.cancelled) } }

  func checkDeadlines(_ now: MonotonicTime) {
    if let reader, reader.deadline <= now { wakeReader(.timedOut) }
    if let writer, writer.deadline <= now { wakeWriter(.timedOut) }
    if !held.isEmpty, heldDeadline <= now { giveUp() }
  }

  func wakeReader(_ wake: Wake) {
    guard let waiter = reader else { return }
    reader = nil
    unsafe waiter.continuation.resume(returning: wake)
  }

  private func wakeWriter(_ wake: Wake) {
    guard let waiter = writer else { return }
    writer = nil
    unsafe waiter.continuation.resume(returning: wake)
  }

  // MARK: Reading

  /// Reads what the socket has, if it has something, else waits for it. One task at a time.
  func fill(until deadline: MonotonicTime) async -> Wake {
    while true {
      if hasLeft { return .left }
      if canRead {
        if read() { return .ready }
        continue
      }
      guard reader == nil else { return .busy }
      let wake = await unsafe withUnsafeContinuation { continuation in
        reader = unsafe Waiter(continuation: continuation, deadline: deadline)
      }
      guard wake == .ready else { return wake }
    }
  }

  /// As ``fill(until:)``, and wakes when the task is cancelled that waits.
  func fillUnlessCancelled(until deadline: MonotonicTime) async -> Wake {
    await withTaskCancellationHandler {
      Task.isCancelled ? .cancelled : await fill(until: deadline)
    } onCancel: {
      server.loop.perform { self.wakeReader(.cancelled) }
    }
  }

  /// Whether the peer sent octets that nobody took.
  var hasUnread: Bool { canRead || !input.isEmpty }

  /// Whether octets came. The peer's end is noticed here as well.
  func read() -> Bool {
    let scratch = unsafe server.scratch
    let count = unsafe recv(descriptor, scratch.baseAddress, scratch.count, 0)
    if count > 0 {
      unsafe input.append(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
      // Less than was asked for: nothing is left, and the loop will tell of more.
      canRead = count == scratch.count
      return true
    }
    if count < 0, errno == EAGAIN {
      canRead = false
    } else if count == 0 || errno != EINTR {
      abort()
    }
    return false
  }

  // MARK: Writing

  /// Sends all octets; false when the peer left or takes none for too long.
  func send(_ octets: [UInt8]) async -> Bool {
    var octets = octets
    if !held.isEmpty {
      octets = held + octets
      held = []
    }
    var sent = 0
    while true {
      if hasLeft { return false }
      if canWrite {
        write(octets, &sent)
        if sent == octets.count { return true }
        continue
      }
      guard writer == nil else { return false }
      let deadline = MonotonicTime.now + configuration.writeTimeout
      let wake = await unsafe withUnsafeContinuation { continuation in
        writer = unsafe Waiter(continuation: continuation, deadline: deadline)
      }
      if wake == .timedOut { giveUp() }
    }
  }

  /// As ``send(_:)``, but what follows in the same turn of the loop leaves together with it. Each send wakes the
  /// peer, and a head that comes alone is of no use to it.
  func sendSoon(_ octets: [UInt8]) async -> Bool {
    guard canWrite, held.isEmpty, !hasLeft else { return await send(octets) }
    held = octets
    heldDeadline = MonotonicTime.now + configuration.writeTimeout
    server.loop.atEndOfTurn { self.sendHeld() }
    return true
  }

  /// Nobody waits for these octets to leave; what the socket does not take now goes when it has room.
  private func sendHeld() {
    guard !held.isEmpty else { return }
    var sent = 0
    while sent < held.count, canWrite, !hasLeft { write(held, &sent) }
    held.removeFirst(sent)
  }

  private func giveUp() {
    resets = true
    abort()
  }

  private func write(_ octets: [UInt8], _ sent: inout Int) {
    let count = unsafe octets.withUnsafeBytes { bytes in
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[sent...])
      return unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
    }
    if count >= 0 {
      sent += count
    } else if errno == EAGAIN {
      canWrite = false
    } else if errno != EINTR {
      abort()
    }
  }

  /// Says that nothing more will be sent.
  func endSending() {
    sendHeld()
    _ = shutdown(descriptor, Int32(SHUT_WR))
  }
}
