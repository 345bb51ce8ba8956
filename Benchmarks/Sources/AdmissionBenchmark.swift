import Foundation

extension Benchmarks {
  /// Attested requests a second on one core against `openssl speed`'s verifications on that core.
  static func admission() throws {
    print(
      "== attested requests a second on one core, 64 connections; the limit is openssl speed's P-256 verify")
    var rows: [(MeasuredServer.Mode, Int)] = [
      (.bare, 1_000), (.verified, 1_000), (.admitted, 1_000), (.admitted, 30_000), (.gateway, 1_000),
    ]
    if let only = ProcessInfo.processInfo.environment["BRAMLEY_BENCH_MODE"] {
      rows = rows.filter { $0.0.rawValue == only }
    }
    for (mode, devices) in rows {
      let before = try opensslVerifications(core: 0)
      let (rate, processor) = try withDirectory { try measure(mode, devices: devices, directory: $0) }
      let after = try opensslVerifications(core: 0)
      let limit = (before + after) / 2
      print(
        "\(mode.rawValue), \(devices) devices: \(format(rate, 0))/s, limit \(format(limit, 0))/s, "
          + "ratio \(format(rate / limit)); \(format(processor * 1e6, 1)) µs of processor a request")
    }
  }

  private static func measure(
    _ mode: MeasuredServer.Mode, devices: Int, directory: String
  ) throws -> (rate: Double, processor: Double) {
    let child = try Child(program, ["serve", mode.rawValue, String(devices), directory], core: 0)
    defer { child.stop() }
    let now = Int64(Date().timeIntervalSince1970)
    let target = mode == .gateway ? "/ai/anthropic/v1/messages" : "/attested"
    let warm = 4_096
    let requests = try Workload(devices: devices).requests(warm + 60_000, target: target, now: now)
    _ = try Load(port: child.port, connections: 64, requests: Array(requests[..<warm])).run()
    let before = child.processorSeconds
    let seconds = try Load(port: child.port, connections: 64, requests: Array(requests[warm...])).run()
    let processor = child.processorSeconds - before
    return (60_000 / seconds, processor / 60_000)
  }
}
