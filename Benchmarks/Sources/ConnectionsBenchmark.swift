import Foundation
import Glibc

extension Benchmarks {
  /// 5,000 idle connections and 2,000 event streams through a relay: its memory, and how soon a provider
  /// learns that readers left.
  static func connections() async throws {
    raiseDescriptorLimit()
    print("== 5,000 idle connections and 2,000 event streams through one process; the limit is 200 MB")
    let upstream = try Child(program, ["serve", "upstream", "0", "-"])
    defer { upstream.stop() }
    let relay = try Child(
      program, ["serve", "relay", "0", "-"],
      environment: ["BRAMLEY_BENCH_UPSTREAM": String(upstream.port)])
    defer { relay.stop() }
    let base = relay.residentMegabytes

    var idle: [Int32] = []
    defer { for descriptor in idle { close(descriptor) } }
    for _ in 0..<5_000 { idle.append(try Load.connect(port: relay.port)) }
    _ = try Self.get("/count", port: relay.port)
    let withIdle = relay.residentMegabytes

    var streams: [Int32] = []
    defer { for descriptor in streams { close(descriptor) } }
    for _ in 0..<2_000 {
      let descriptor = try Load.connect(port: relay.port)
      let request = Array("GET /stream HTTP/1.1\r\nHost: bench\r\n\r\n".utf8)
      _ = request.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0) }
      streams.append(descriptor)
    }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    for descriptor in streams where recv(descriptor, &buffer, buffer.count, 0) <= 0 {
      throw BenchmarkError("a stream ended")
    }
    usleep(1_000_000)
    let withStreams = relay.residentMegabytes
    print(
      "memory: \(format(base, 1)) MB at rest, \(format(withIdle, 1)) MB with 5,000 idle connections, "
        + "\(format(withStreams, 1)) MB with 2,000 streams beside them: \(format(withStreams / 200)) of the limit"
    )

    for descriptor in streams.suffix(200) { close(descriptor) }
    streams.removeLast(200)
    let start = DispatchTime.now().uptimeNanoseconds
    var left = 2_000
    while left > 1_800 {
      left = Int(try Self.get("/count", port: upstream.port)) ?? left
      let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
      if seconds > 5 { throw BenchmarkError("after 5 s \(left - 1_800) of 200 streams go on upstream") }
      usleep(5_000)
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    print(
      "200 readers leave: the provider has lost all 200 after \(format(seconds, 3)) of the second allowed")
  }

  /// The body of a small answer.
  static func get(_ target: String, port: UInt16) throws -> String {
    let descriptor = try Load.connect(port: port)
    defer { close(descriptor) }
    let request = Array("GET \(target) HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n".utf8)
    _ = request.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let length = recv(descriptor, &buffer, buffer.count, 0)
      guard length > 0 else { break }
      text += buffer[0..<length]
    }
    return String(String(decoding: text, as: UTF8.self).split(separator: "\r\n\r\n").last ?? "")
  }
}
