import Foundation

/// A process that is measured from outside.
final class Child {
  let process = Process()
  private let output = Pipe()
  let port: UInt16
  /// Seconds from the spawn to the line that says where it listens.
  let startSeconds: Double

  /// Starts a program, pinned to a core when one is named, and waits for its line `listening PORT`.
  init(_ program: String, _ arguments: [String], core: Int? = nil, environment: [String: String] = [:]) throws
  {
    let pin = core.map { ["taskset", "-c", String($0)] } ?? []
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = pin + [program] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = output
    let start = DispatchTime.now().uptimeNanoseconds
    try process.run()
    var text = ""
    var found: UInt16?
    while found == nil {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { throw BenchmarkError("\(program) ended before it listened: \(text)") }
      text += String(decoding: data, as: UTF8.self)
      found = text.firstMatch(of: /(?:listening |is at http:\/\/[0-9.]+:)([0-9]+)/).flatMap { UInt16($0.1) }
    }
    port = found ?? 0
    startSeconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  }

  /// Resident memory in MB, of the process and its only child where `env` and `taskset` stand between.
  var residentMegabytes: Double {
    let status =
      (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return (line.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
  }

  /// Processor seconds so far.
  var processorSeconds: Double {
    let stat = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)) ?? ""
    let fields = stat.drop { $0 != ")" }.split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}

/// P-256 verifications a second on that core, by `openssl speed`.
func opensslVerifications(core: Int) throws -> Double {
  let process = Process()
  let output = Pipe()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["taskset", "-c", String(core), "openssl", "speed", "-seconds", "2", "ecdsap256"]
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard let line = text.split(separator: "\n").last(where: { $0.contains("ecdsa (nistp256)") }),
    let last = line.split(separator: " ").last, let value = Double(last)
  else { throw BenchmarkError("openssl speed said: \(text)") }
  return value
}
