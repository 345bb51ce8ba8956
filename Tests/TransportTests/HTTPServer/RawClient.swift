import Glibc
import System

@testable import Transport

/// Runs the body where it may block: the client here does, and the threads that all tests share are few.
func onThreadOfItsOwn(_ body: () async throws -> Void) async throws {
  let loop = try EventLoop()
  defer { loop.stop() }
  try await withTaskExecutorPreference(loop) { try await body() }
}

/// A peer that sends exactly the octets it is told to, and waits for what comes back.
final class RawClient {
  struct Answer {
    var status = 0
    var head = ""
    var content: [UInt8] = []
    var text: String { String(decoding: content, as: UTF8.self) }
    func has(_ line: String) -> Bool { head.lowercased().contains("\r\n" + line.lowercased() + "\r\n") }
  }

  struct Failure: Error { var call: String }

  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var ended = false

  /// Connects; a small receive buffer makes a reader that is slow as soon as it does not read.
  init(_ address: SocketAddress, receiveBuffer: Int32? = nil, timeout: Int = 5) throws {
    descriptor = socket(address.isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var size = receiveBuffer { unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4) }
    var limit = timeval(tv_sec: timeout, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    let descriptor = descriptor
    let connected = try unsafe address.withSocketAddress { unsafe connect(descriptor, $0, $1) }
    guard connected == 0 else { throw Failure(call: "connect") }
  }

  deinit { leave() }

  private var isOpen = true

  /// Closes the socket.
  func leave() {
    if isOpen { close(descriptor) }
    isOpen = false
  }

  /// Leaves with a reset.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    leave()
  }

  /// Says that nothing more will come.
  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Sends all; false where the server takes no more.
  @discardableResult
  func send(_ octets: [UInt8]) -> Bool {
    var sent = 0
    while sent < octets.count {
      let count = unsafe octets.withUnsafeBytes { bytes in
        unsafe Glibc.send(
          descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Reads more; false at the end or when nothing came in time.
  private func more() -> Bool {
    if ended { return false }
    var piece = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(descriptor, &piece, piece.count, 0)
    if count <= 0 {
      ended = count == 0 || errno != EAGAIN
      return false
    }
    buffer += piece[..<count]
    return true
  }

  /// What comes at once, in one piece.
  func readOnce() -> [UInt8] {
    _ = more()
    defer { buffer = [] }
    return buffer
  }

  /// Everything up to the end of the connection; nil where it does not end in time.
  func readToEnd() -> [UInt8]? {
    while more() {}
    defer { buffer = [] }
    return ended ? buffer : nil
  }

  /// Whether the server ends the connection without another octet.
  func seesEnd() -> Bool { readToEnd() == [] }

  /// That many octets; fewer at the end.
  func read(_ count: Int) -> [UInt8] {
    while buffer.count < count, more() {}
    let taken = Array(buffer.prefix(count))
    buffer.removeFirst(taken.count)
    return taken
  }

  /// A line without its end.
  private func line() throws -> String {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        let line = String(decoding: buffer[..<max(0, end - 1)], as: UTF8.self)
        buffer.removeFirst(end + 1)
        return line
      }
      guard more() else { throw Failure(call: "recv") }
    }
  }

  /// The next response; content without length only where the connection ends.
  func answer(toHead: Bool = false) throws -> Answer {
    var answer = Answer()
    var length: Int?
    var isChunked = false
    answer.head = try line() + "\r\n"
    answer.status = Int(answer.head.split(separator: " ").dropFirst().first ?? "") ?? 0
    while true {
      let line = try line()
      answer.head += line + "\r\n"
      if line.isEmpty { break }
      let lower = line.lowercased()
      if lower.hasPrefix("content-length: ") { length = Int(lower.dropFirst(16)) }
      if lower == "transfer-encoding: chunked" { isChunked = true }
    }
    if toHead || answer.status < 200 || answer.status == 204 || answer.status == 304 { return answer }
    if isChunked {
      while let size = Int(try line(), radix: 16) {
        answer.content += read(size)
        _ = try line()
        if size == 0 { return answer }
      }
      throw Failure(call: "chunk")
    }
    if let length {
      answer.content = read(length)
      guard answer.content.count == length else { throw Failure(call: "content") }
    } else {
      answer.content = readToEnd() ?? []
    }
    return answer
  }
}
