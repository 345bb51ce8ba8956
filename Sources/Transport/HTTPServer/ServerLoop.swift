import HTTPMessages
import System

/// What of the server lives on one event loop: its listening sockets and its connections. It belongs to the
/// loop's thread.
@safe final class ServerLoop: @unchecked Sendable {
  let loop: EventLoop
  let handler: any HTTPHandler
  let configuration: HTTPServer.Configuration
  /// Octets come here from a socket, before they are copied to their connection.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
  /// No new request is taken.
  private(set) var isStopping = false

  private let connectionLimit: Int
  private var listeners: [Listener]
  private var registrations: [EventLoop.Registration] = []
  private var connections: [ObjectIdentifier: Connection] = [:]
  private var sweepTimer: EventLoop.Timer?
  private var pauseTimer: EventLoop.Timer?
  private var waitingForEnd: [CheckedContinuation<Void, Never>] = []
  private var date = DateField()

  init(
    _ loop: EventLoop, _ handler: any HTTPHandler, _ listeners: [Listener],
    _ configuration: HTTPServer.Configuration, connectionLimit: Int
  ) {
    self.loop = loop
    self.handler = handler
    self.listeners = listeners
    self.configuration = configuration
    self.connectionLimit = max(1, connectionLimit)
  }

  deinit { unsafe scratch.deallocate() }

  var count: Int { connections.count }

  /// The Date field line of this second.
  var dateLine: [UInt8] { date.line(at: WallClock.seconds) }

  // MARK: Accepting

  func startAccepting() {
    guard registrations.isEmpty, !isStopping, count < connectionLimit else { return }
    for listener in listeners {
      let registration = try? loop.register(listener.descriptor, .readable) { [self] _ in
        accept(listener, most: 64)
      }
      if let registration { registrations.append(registration) }
    }
  }

  private func stopAccepting() {
    for registration in registrations { loop.deregister(registration) }
    registrations = []
  }

  private func accept(_ listener: Listener, most: Int) {
    for _ in 0..<most {
      guard count < connectionLimit else { return stopAccepting() }
      switch listener.accept() {
      case .nobody: return
      case .exhausted:
        stopAccepting()
        pauseTimer = loop.scheduleOnLoop(after: configuration.acceptPause) { [weak self] in
          self?.startAccepting()
        }
        return
      case .connection(let descriptor, let peer):
        let connection = Connection(descriptor, peer: peer, on: self)
        guard connection.start() else { continue }
        connections[ObjectIdentifier(connection)] = connection
        scheduleSweep()
      }
    }
  }

  func ended(_ connection: Connection) {
    connections[ObjectIdentifier(connection)] = nil
    if isStopping { resumeIfEnded() } else { startAcceptingUnlessPaused() }
  }

  private func startAcceptingUnlessPaused() {
    if registrations.isEmpty, pauseTimer?.isPending != true { startAccepting() }
  }

  // MARK: Deadlines

  /// One timer for all connections: a deadline is a number to them, and setting it costs nothing.
  private func scheduleSweep() {
    guard sweepTimer == nil else { return }
    sweepTimer = loop.scheduleOnLoop(after: configuration.sweepInterval) { [weak self] in self?.sweep() }
  }

  private func sweep() {
    sweepTimer = nil
    let now = MonotonicTime.now
    for connection in connections.values { connection.checkDeadlines(now) }
    if !connections.isEmpty { scheduleSweep() }
  }

  // MARK: Stopping

  /// Takes no new connection, closes idle ones, lets answers end within the limit, then cuts them; returns when
  /// all is over. A handler that ignores its cancellation is left behind after a second more.
  @concurrent func stop(within limit: Duration) async {
    await withCheckedContinuation { continuation in
      loop.execute { self.beginStop(within: limit, continuation) }
    }
  }

  private func beginStop(within limit: Duration, _ continuation: CheckedContinuation<Void, Never>) {
    waitingForEnd.append(continuation)
    if !isStopping {
      // Whoever connected before is still served: closing the socket would reset what waits in its queue.
      for listener in listeners { accept(listener, most: configuration.backlog) }
      isStopping = true
      stopAccepting()
      pauseTimer?.cancel()
      for listener in listeners { listener.discard() }
      listeners = []
      for connection in connections.values { connection.endWhenIdle() }
    }
    loop.scheduleOnLoop(after: limit) { [weak self] in
      guard let self else { return }
      for connection in connections.values { connection.abort() }
      loop.scheduleOnLoop(after: .seconds(1)) { [weak self] in self?.resumeAll() }
    }
    resumeIfEnded()
  }

  private func resumeIfEnded() { if connections.isEmpty { resumeAll() } }

  private func resumeAll() {
    sweepTimer?.cancel()
    for continuation in waitingForEnd { continuation.resume() }
    waitingForEnd = []
  }
}
