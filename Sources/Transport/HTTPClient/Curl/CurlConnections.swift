import CCurl
import System

/// libcurl's multi handle of one loop: its transfers and kept connections. Belongs to the loop's thread.
@safe final class CurlConnections: @unchecked Sendable {
  let loop: EventLoop
  let configuration: HTTPClientConfiguration
  private let multi: UnsafeMutableRawPointer
  private let share: UnsafeMutableRawPointer
  /// By the address of the easy handle.
  private var active: [UInt: Transfer] = [:]
  /// Handles of transfers that ended well, for the next ones.
  private var spare: [EasyHandle] = []
  private var registrations: [Int32: EventLoop.Registration] = [:]
  private var timer: EventLoop.Timer?
  private var kicked = false
  private var retired = false
  private var closed = false

  /// Once for the process, before the first handle.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init(on loop: EventLoop, _ configuration: HTTPClientConfiguration) throws(SystemError) {
    guard Self.isReady, let multi = unsafe curl_multi_init() else {
      throw SystemError(call: "curl_multi_init", code: 24)
    }
    guard let share = unsafe curl_share_init() else {
      unsafe curl_multi_cleanup(multi)
      throw SystemError(call: "curl_share_init", code: 12)
    }
    self.loop = loop
    self.configuration = configuration
    unsafe self.multi = multi
    unsafe self.share = share
    _ = unsafe bramley_share_sessions(share)
    _ = unsafe bramley_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
    _ = unsafe bramley_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.maximumIdleConnections)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    _ = unsafe bramley_multi_set_callbacks(multi, watchSocket, noteTimer, context)
  }

  deinit {
    // Only when the loop ended first; it looks at the sockets no more.
    if !closed {
      _ = unsafe bramley_multi_set_callbacks(multi, nil, nil, nil)
      release()
    }
  }

  // MARK: Transfers

  /// Begins; nil once closed, or for want of memory.
  func begin(_ transfer: Transfer) -> EasyHandle? {
    guard !closed else { return nil }
    guard let easy = spare.popLast() ?? EasyHandle(configuration), easy.prepare(for: transfer),
      unsafe bramley_set_pointer(easy.pointer, CURLOPT_SHARE, share) == CURLE_OK,
      unsafe curl_multi_add_handle(multi, easy.pointer) == CURLM_OK
    else { return nil }
    active[easy.identifier] = transfer
    return easy
  }

  /// Takes it out. One that is under way loses its connection at once. Never inside a callback of libcurl.
  ///
  /// - Parameter isSound: its transfer ended well, so that the handle may serve another.
  func remove(_ easy: EasyHandle, isSound: Bool) {
    unsafe curl_multi_remove_handle(multi, easy.pointer)
    active[easy.identifier] = nil
    if isSound, !closed, spare.count < Self.mostSpare {
      easy.clear()
      if easy.isComplete { spare.append(easy) }
    }
    if retired && active.isEmpty { loop.execute { self.close() } }
  }

  /// Nobody will ask any more: closes when the last transfer has ended.
  func retire() {
    retired = true
    if active.isEmpty { close() }
  }

  /// Ends every transfer and closes the connections.
  func close() {
    guard !closed else { return }
    closed = true
    for transfer in Array(active.values) { transfer.stop() }
    release()
    timer?.cancel()
    for registration in registrations.values { loop.deregister(registration) }
    registrations = [:]
  }

  private static let mostSpare = 32

  private func release() {
    // They use what is shared.
    spare = []
    unsafe curl_multi_cleanup(multi)
    unsafe curl_share_cleanup(share)
  }

  // MARK: Driving libcurl

  /// libcurl wants to know of that socket.
  func watch(_ socket: Int32, _ interest: EventLoop.Interest) -> Bool {
    guard !interest.isEmpty else {
      if let registration = registrations.removeValue(forKey: socket) { loop.deregister(registration) }
      return true
    }
    do {
      if let registration = registrations[socket] {
        try loop.modify(registration, interest)
      } else {
        registrations[socket] = try loop.register(socket, interest) { [weak self] readiness in
          self?.ready(socket, readiness)
        }
      }
      return true
    } catch {
      return false
    }
  }

  /// libcurl wants to be called after that many milliseconds; a negative number: not at all.
  func setTimer(milliseconds: Int) {
    if milliseconds == 0 {
      // Not at once: this is one of libcurl's callbacks.
      timer?.cancel()
      timer = nil
      if !kicked {
        kicked = true
        loop.execute { self.kick() }
      }
    } else if milliseconds < 0 {
      timer?.cancel()
      timer = nil
    } else if let timer {
      timer.reschedule(after: .milliseconds(milliseconds))
    } else {
      timer = loop.scheduleOnLoop(after: .milliseconds(milliseconds)) { [weak self] in self?.kick() }
    }
  }

  private func kick() {
    kicked = false
    act(CURL_SOCKET_TIMEOUT, 0)
  }

  private func ready(_ socket: Int32, _ readiness: EventLoop.Readiness) {
    var mask: Int32 = 0
    if !readiness.isDisjoint(with: [.readable, .hangUp, .peerClosed]) { mask |= CURL_CSELECT_IN }
    if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
    if readiness.contains(.error) { mask |= CURL_CSELECT_ERR }
    act(socket, mask)
  }

  private func act(_ socket: curl_socket_t, _ mask: Int32) {
    guard !closed else { return }
    var running: Int32 = 0
    unsafe curl_multi_socket_action(multi, socket, mask, &running)
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(multi, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE, let easy = unsafe message.pointee.easy_handle else {
        continue
      }
      // The message is gone with the handle.
      let code = unsafe message.pointee.data.result
      active[UInt(bitPattern: easy)]?.completed(CurlFailure(code))
    }
  }
}
