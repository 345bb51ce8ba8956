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

  static func format(_ value: Double, _ digits: Int = 2) -> String { String(format: "%.\(digits)f", value) }
}
