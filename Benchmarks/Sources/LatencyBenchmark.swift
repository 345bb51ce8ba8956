import Foundation

extension Benchmarks {
  /// What the gateway adds for one client, against the same upstream called directly, in turns; and what each
  /// part of it adds. The settlement, which the answer does not wait for, would be measured as the next
  /// request's where a client asks without a pause: so the client waits 2 ms after each answer.
  static func latency() async throws {
    let environment = ProcessInfo.processInfo.environment
    let rounds = environment["BRAMLEY_BENCH_ROUNDS"].flatMap { Int($0) } ?? 3
    print(
      "== latency that the gateway adds, one client, attested, settled; the limit is 0.5 ms at the median;"
        + " the least median of \(rounds) rounds in turns, which other work disturbed least, all medians,"
        + " and within what the quickest tenth came")
    let upstream = try Child(program, ["serve", "upstream", "0", "-"])
    defer { upstream.stop() }
    var modes: [MeasuredServer.Mode] = [.upstream, .bare, .verified, .admitted, .gateway, .proxied]
    if let only = environment["BRAMLEY_BENCH_MODE"]?.split(separator: ",") {
      modes = modes.filter { only.contains(Substring($0.rawValue)) }
    }
    var medians: [MeasuredServer.Mode: [Double]] = [:]
    var tenths: [MeasuredServer.Mode: Double] = [:]
    for _ in 0..<max(1, rounds) {
      for mode in modes {
        let load = try withDirectory { try Self.measure(mode, upstream: upstream.port, directory: $0) }
        medians[mode, default: []].append(load.quantile(0.5))
        tenths[mode] = min(tenths[mode] ?? .infinity, load.quantile(0.1))
      }
    }
    for mode in modes {
      let all = (medians[mode] ?? []).map { format($0, 0) }.joined(separator: ", ")
      print(
        "\(mode.rawValue): \(format(medians[mode]?.min() ?? 0, 0)) µs (\(all); \(format(tenths[mode] ?? 0, 0)))"
      )
    }
    if let direct = medians[.upstream]?.min(), let through = medians[.proxied]?.min() {
      print(
        "through Bramley: adds \(format(through - direct, 0)) µs, \(format((through - direct) / 500)) of the limit"
      )
    }
  }

  private static func measure(
    _ mode: MeasuredServer.Mode, upstream: UInt16, directory: String
  ) throws -> Load {
    let count = 600
    let server = try Child(
      program, ["serve", mode.rawValue, "10", directory],
      environment: ["BRAMLEY_BENCH_UPSTREAM": String(upstream)])
    defer { server.stop() }
    let requests: [[UInt8]]
    switch mode {
    case .upstream:
      let head =
        "POST /v1/messages HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(Workload.body.count)\r\n\r\n"
      requests = Array(repeating: Array(head.utf8) + Workload.body, count: 2 * count)
    default:
      let target = mode == .gateway || mode == .proxied ? "/ai/anthropic/v1/messages" : "/attested"
      requests = try Workload(devices: 10).requests(
        2 * count, target: target, now: Int64(Date().timeIntervalSince1970))
    }
    // The first half warms up.
    _ = try Load(port: server.port, connections: 1, requests: Array(requests[..<count])).run()
    let load = try Load(port: server.port, connections: 1, requests: Array(requests[count...]), pause: pause)
    _ = try load.run()
    return load
  }

  private static var pause: UInt32 {
    ProcessInfo.processInfo.environment["BRAMLEY_BENCH_PAUSE"].flatMap { UInt32($0) } ?? 2_000
  }
}
