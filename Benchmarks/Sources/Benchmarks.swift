import Foundation
import System

/// Prints ratios taken in one run against named limits. Absolute figures are of the machine at hand.
@main
enum Benchmarks {
  static func main() async throws {
    let arguments = CommandLine.arguments
    Signals.ignoreBrokenPipe()
    if arguments.count == 5, arguments[1] == "serve", let mode = MeasuredServer.Mode(rawValue: arguments[2]),
      let devices = Int(arguments[3])
    {
      return try await MeasuredServer.run(mode, devices: devices, directory: arguments[4])
    }
    if arguments.count > 1, arguments[1] == "node" {
      return try await AdmissionNode.run(Array(arguments.dropFirst(2)))
    }
    if arguments.count == 3, arguments[1] == "refreshing" { return try await refreshing(arguments[2]) }
    if arguments.count == 3, arguments[1] == "signing-in" { return try await signingIn(arguments[2]) }
    let chosen = Set(arguments.dropFirst())
    func wants(_ name: String) -> Bool { chosen.isEmpty || chosen.contains(name) }
    if wants("admission") { try admission() }
    if wants("refreshes") { try refreshes() }
    if wants("sign-ins") { try signIns() }
    if wants("latency") { try await latency() }
    if wants("process") { try process() }
    if wants("connections") { try await connections() }
    if wants("nodes") { try await nodes() }
  }

  static var program: String { ProcessInfo.processInfo.arguments[0] }

  static func withDirectory<Value>(_ body: (String) throws -> Value) throws -> Value {
    let path = FileManager.default.temporaryDirectory.appending(path: "bramley-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: path) }
    return try body(path.path())
  }

  /// Runs one of this program's parts in a process of its own on the first core, with a directory to work in.
  static func onOneCore(_ part: String) throws {
    try withDirectory { directory in
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["taskset", "-c", "0", program, part, directory]
      try process.run()
      process.waitUntilExit()
      if process.terminationStatus != 0 { throw BenchmarkError("\(part) failed") }
    }
  }

  /// How often a second, tried for so many seconds.
  static func perSecond(_ seconds: Double, _ body: () throws -> Void) rethrows -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    var count = 0
    var elapsed = 0.0
    while elapsed < seconds {
      for _ in 0..<64 { try body() }
      count += 64
      elapsed = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    }
    return Double(count) / elapsed
  }

  static func format(_ value: Double, _ digits: Int = 2) -> String { String(format: "%.\(digits)f", value) }
}
