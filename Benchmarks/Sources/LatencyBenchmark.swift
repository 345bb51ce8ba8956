import Foundation

extension Benchmarks {
  /// What the gateway adds for one client, against the same upstream called directly, in turns.
  static func latency() async throws {
    print(
      "== latency that the gateway adds, one client, attested, settled; the limit is 0.5 ms at the median")
    let upstream = try Child(program, ["serve", "upstream", "0", "-"])
    defer { upstream.stop() }
    try withDirectory { directory in
      let gateway = try Child(
        program, ["serve", "proxied", "10", directory],
        environment: ["BRAMLEY_BENCH_UPSTREAM": String(upstream.port)])
      defer { gateway.stop() }
      let now = Int64(Date().timeIntervalSince1970)
      let rounds = 10
      let count = 300
      let attested = try Workload(devices: 10).requests(
        (rounds + 1) * count, target: "/ai/anthropic/v1/messages", now: now)
      let plain =
        Array(
          ("POST /v1/messages HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(Workload.body.count)\r\n\r\n").utf8) + Workload.body
      var direct: [Double] = []
      var through: [Double] = []
      for round in 0...rounds {
        let straight = try Load(
          port: upstream.port, connections: 1, requests: Array(repeating: plain, count: count))
        _ = try straight.run()
        let passed = try Load(
          port: gateway.port, connections: 1,
          requests: Array(attested[(round * count)..<((round + 1) * count)]))
        _ = try passed.run()
        // The first round warms up.
        if round > 0 {
          direct.append(straight.median)
          through.append(passed.median)
        }
      }
      let a = direct.sorted()[rounds / 2]
      let b = through.sorted()[rounds / 2]
      print(
        "direct \(format(a, 0)) µs, through Bramley \(format(b, 0)) µs: adds \(format(b - a, 0)) µs, "
          + "\(format((b - a) / 500)) of the limit")
    }
  }
}
