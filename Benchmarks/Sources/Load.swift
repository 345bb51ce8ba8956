import Foundation
import Glibc
import System

/// A client of many connections, one request at a time on each, that does nothing but write and count: its
/// requests were made before.
final class Load {
  private let socket: [Int32]
  private let requests: [[UInt8]]
  private let pause: UInt32
  private var next = 0
  private var done = 0
  private var sentAt: [UInt64]
  private var received: [[UInt8]]
  private(set) var latencies: [UInt64] = []

  /// - Parameter pause: microseconds that each connection waits between an answer and its next request.
  init(port: UInt16, connections: Int, requests: [[UInt8]], pause: UInt32 = 0) throws {
    self.requests = requests
    self.pause = pause
    socket = try (0..<connections).map { _ in try Self.connect(port: port) }
    sentAt = Array(repeating: 0, count: connections)
    received = Array(repeating: [], count: connections)
    latencies.reserveCapacity(requests.count)
  }

  deinit { for descriptor in socket { close(descriptor) } }

  /// Sends every request and reads every answer; seconds. Throws when an answer is not 200.
  func run() throws -> Double {
    var polled = socket.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let start = DispatchTime.now().uptimeNanoseconds
    for index in socket.indices { send(index) }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while done < requests.count {
      guard poll(&polled, nfds_t(polled.count), 10_000) > 0 else {
        throw BenchmarkError("the server stopped answering after \(done)")
      }
      for index in polled.indices where polled[index].revents != 0 {
        let length = recv(socket[index], &buffer, buffer.count, 0)
        guard length > 0 else { throw BenchmarkError("the server closed a connection after \(done)") }
        received[index] += buffer[0..<length]
        guard Self.isWhole(received[index]) else { continue }
        if !received[index].starts(with: Array("HTTP/1.1 200".utf8)) {
          throw BenchmarkError("refused: " + String(decoding: received[index].prefix(800), as: UTF8.self))
        }
        received[index].removeAll(keepingCapacity: true)
        latencies.append(DispatchTime.now().uptimeNanoseconds - sentAt[index])
        done += 1
        if pause > 0 { usleep(pause) }
        send(index)
      }
    }
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  }

  /// Such a share of the answers came within so many microseconds.
  func quantile(_ share: Double) -> Double {
    let sorted = latencies.sorted()
    return sorted.isEmpty ? 0 : Double(sorted[Int(Double(sorted.count - 1) * share)]) / 1000
  }

  /// Whether an answer is there to its end: by its length, or by its last chunk.
  private static func isWhole(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let head = text.range(of: "\r\n\r\n") else { return false }
    let length = text[..<head.lowerBound].lowercased().split(separator: "\r\n").first {
      $0.hasPrefix("content-length:")
    }
    guard let length, let count = Int(length.dropFirst(15).drop { $0 == " " }) else {
      return text.hasSuffix("\r\n0\r\n\r\n")
    }
    return text[head.upperBound...].utf8.count >= count
  }

  private func send(_ index: Int) {
    guard next < requests.count else { return }
    sentAt[index] = DispatchTime.now().uptimeNanoseconds
    _ = requests[next].withUnsafeBytes { Glibc.send(socket[index], $0.baseAddress, $0.count, 0) }
    next += 1
  }

  static func connect(port: UInt16) throws -> Int32 {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, connected == 0 else { throw BenchmarkError("cannot connect to port \(port)") }
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    return descriptor
  }
}
