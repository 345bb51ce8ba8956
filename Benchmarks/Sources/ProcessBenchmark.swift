import Foundation
import Glibc

extension Benchmarks {
  /// A port that nobody listens on at the moment.
  private static func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let named = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard named else { throw BenchmarkError("no free port") }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Memory and start of the executable as it is served.
  static func process() throws {
    print("== the executable at rest")
    let bramley = URL(filePath: program).deletingLastPathComponent().appending(path: "bramley").path()
    var starts: [Double] = []
    var memory = 0.0
    for _ in 0..<5 {
      try withDirectory { directory in
        let child = try Child(
          bramley, ["dev", "--listen", "127.0.0.1:\(try freePort())", "--data", directory])
        defer { child.stop() }
        starts.append(child.startSeconds)
        usleep(300_000)
        memory = max(memory, child.residentMegabytes)
      }
    }
    print(
      "bramley dev listens \(format(starts.sorted()[2] * 1000, 0)) ms after its start (with a new data folder), "
        + "and takes \(format(memory, 1)) MB at rest")
  }
}
