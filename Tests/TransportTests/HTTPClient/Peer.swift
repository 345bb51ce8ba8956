import Glibc
import System

/// The other server in these tests: it does to the byte what a script says, on a loop of its own.
final class Peer: @unchecked Sendable {
  /// Called on the peer's loop with each whole request.
  typealias Script = @Sendable (Connection, Request) -> Void

  struct Request: Sendable {
    /// Head and body as they came.
    var text: String
    /// 1 for the first request of the peer, whatever the connection.
    var number: Int
  }

  struct Counts: Sendable, Equatable {
    var accepted = 0
    /// Connections on which at least one octet came.
    var spoken = 0
    var requests = 0
    /// Connections that the client closed.
    var closed = 0
    /// Octets the kernel took from the peer.
    var sent = 0
  }

  let port: UInt16
  private let loop: EventLoop
  private let listener: Int32
  private let script: Script
  private let reads: Bool
  /// Sent before anything is asked.
  private let greeting: String
  private let tally = Locked(Counts())
  private var connections: [Int32: Connection] = [:]

  var authority: String { "127.0.0.1:\(port)" }
  var counts: Counts { tally.withLock { $0 } }

  /// A peer that does not read lets its kernel buffers fill up.
  init(reads: Bool = true, greeting: String = "", _ script: @escaping Script) async throws {
    self.reads = reads
    self.greeting = greeting
    loop = try EventLoop()
    self.script = script
    listener = socket(
      AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        precondition(unsafe bind(descriptor, pointer, length) == 0 && listen(descriptor, 1_000) == 0)
        unsafe getsockname(descriptor, pointer, &length)
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    try await loop.runThrowing { _ = try self.loop.register(self.listener, .readable) { _ in self.accept() } }
      .value
  }

  /// Closes everything and waits for the loop.
  func stop() {
    loop.execute {
      for connection in self.connections.values { connection.close() }
      close(self.listener)
    }
    loop.stop()
  }

  /// Waits, at most five seconds, until the counts are as wished; how long it took.
  func wait(until reached: (Counts) -> Bool) async throws -> Duration {
    let began = MonotonicTime.now
    while !reached(counts), .now - began < .seconds(5) { try await loop.sleep(for: .milliseconds(1)) }
    return .now - began
  }

  private func accept() {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else { return }
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      tally.withLock { $0.accepted += 1 }
      let connection = Connection(descriptor, self)
      connections[descriptor] = connection
      connection.begin()
      if !greeting.isEmpty { connection.send(greeting) }
    }
  }

  final class Connection: @unchecked Sendable {
    private let descriptor: Int32
    private unowned let peer: Peer
    private var registration: EventLoop.Registration?
    private var incoming: [UInt8] = []
    private var outgoing: [UInt8] = []
    private var repeats = 0
    private var isOpen = true
    private var spoken = false
    /// How many requests came on this connection.
    private(set) var served = 0

    fileprivate init(_ descriptor: Int32, _ peer: Peer) {
      self.descriptor = descriptor
      self.peer = peer
    }

    fileprivate func begin() {
      let interest: EventLoop.Interest = peer.reads ? .readable : .peerClosed
      registration = try? peer.loop.register(descriptor, interest) { _ in
        guard self.peer.reads else { return self.left() }
        self.read()
        self.flush()
      }
    }

    /// Sends the text that many times, as fast as the client takes it. From any thread.
    func send(_ text: String, times: Int = 1) {
      peer.loop.perform {
        if times > 1 {
          self.repeats = times
          self.block = Array(text.utf8)
        } else {
          self.outgoing += Array(text.utf8)
        }
        self.flush()
      }
    }

    /// Ends the connection in good order once what was given is sent.
    func close() { end(abruptly: false) }

    /// Ends it with a reset.
    func reset() { end(abruptly: true) }

    private var block: [UInt8] = []

    private func end(abruptly: Bool) {
      peer.loop.perform {
        guard self.isOpen else { return }
        self.isOpen = false
        if abruptly {
          var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
          unsafe setsockopt(
            self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        }
        if let registration = self.registration { self.peer.loop.deregister(registration) }
        Glibc.close(self.descriptor)
        self.peer.connections[self.descriptor] = nil
      }
    }

    private func read() {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while isOpen {
        let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0 && errno == EAGAIN { return }
        guard count > 0 else { return left() }
        if !spoken {
          spoken = true
          peer.tally.withLock { $0.spoken += 1 }
        }
        incoming += buffer[..<count]
        while isOpen, let text = takeRequest() {
          served += 1
          let number = peer.tally.withLock { counts in
            counts.requests += 1
            return counts.requests
          }
          peer.script(self, Request(text: text, number: number))
        }
      }
    }

    private func left() {
      peer.tally.withLock { $0.closed += 1 }
      close()
    }

    private func takeRequest() -> String? {
      let text = String(decoding: incoming, as: UTF8.self)
      guard let headEnd = text.utf8.firstRange(of: "\r\n\r\n".utf8)?.upperBound else { return nil }
      let head = text[..<headEnd].lowercased()
      var end = headEnd
      if head.contains("transfer-encoding: chunked") {
        guard let last = text[headEnd...].utf8.firstRange(of: "0\r\n\r\n".utf8) else { return nil }
        end = last.upperBound
      } else if let range = head.utf8.firstRange(of: "content-length: ".utf8) {
        let digits = head[range.upperBound...].prefix { $0.isNumber }
        let available = text.utf8.distance(from: headEnd, to: text.endIndex)
        guard let length = Int(digits), available >= length else { return nil }
        end = text.utf8.index(headEnd, offsetBy: length)
      }
      incoming.removeFirst(text.utf8.distance(from: text.startIndex, to: end))
      return String(text[..<end])
    }

    private func flush() {
      while isOpen {
        if outgoing.isEmpty && repeats > 0 {
          repeats -= 1
          outgoing = block
        }
        if outgoing.isEmpty { break }
        let count = unsafe Glibc.send(descriptor, outgoing, outgoing.count, Int32(MSG_NOSIGNAL))
        if count < 0 {
          if errno == EAGAIN { break }
          return left()
        }
        peer.tally.withLock { $0.sent += count }
        outgoing.removeFirst(count)
      }
      guard isOpen, let registration else { return }
      let interest: EventLoop.Interest = outgoing.isEmpty ? [.readable] : [.readable, .writable]
      try? peer.loop.modify(registration, interest)
    }
  }
}

extension Collection where Element: Equatable {
  /// The first place where the other collection stands in this one.
  fileprivate func firstRange(of other: some Collection<Element>) -> Range<Index>? {
    var start = startIndex
    while start != endIndex {
      var (left, right) = (start, other.startIndex)
      while left != endIndex, right != other.endIndex, self[left] == other[right] {
        (left, right) = (index(after: left), other.index(after: right))
      }
      if right == other.endIndex { return start..<left }
      start = index(after: start)
    }
    return nil
  }
}
