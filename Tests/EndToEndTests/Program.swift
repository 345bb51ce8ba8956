import Foundation
import Testing

/// The executable as a process of its own.
final class Program {
  private let process = Process()
  private let output: URL
  private let errors: URL

  /// The product beside the tests.
  private static let executable = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().appending(path: "bramley")

  /// Starts it with these arguments; its streams go to files in the folder, stderr elsewhere where that is given.
  init(
    _ arguments: [String], in folder: Folder, environment: [String: String] = [:],
    errors other: FileHandle? = nil
  )
    throws
  {
    let name = UUID().uuidString
    output = folder.url.appending(path: "\(name).out")
    errors = folder.url.appending(path: "\(name).err")
    for file in [output, errors] { try Data().write(to: file) }
    process.executableURL = Self.executable
    process.arguments = arguments
    process.currentDirectoryURL = folder.url
    process.environment = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": folder.url.path,
    ].merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try other ?? FileHandle(forWritingTo: errors)
    try process.run()
  }

  deinit { if process.isRunning { kill(SIGKILL) } }

  var isRunning: Bool { process.isRunning }
  /// What it wrote to stdout so far.
  var text: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }
  /// What it wrote to stderr so far.
  var errorText: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

  func kill(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

  /// Its exit code; a test that waits in vain fails.
  func exitCode(within seconds: Double = 60) async throws -> Int32 {
    try await waitUntil(within: seconds, "the program to end") { !process.isRunning }
    return process.terminationStatus
  }

  /// Runs to the end.
  static func run(
    _ arguments: [String], in folder: Folder, environment: [String: String] = [:]
  ) async throws -> (code: Int32, output: String, errors: String) {
    let program = try Program(arguments, in: folder, environment: environment)
    let code = try await program.exitCode()
    return (code, program.text, program.errorText)
  }
}

/// A folder that is gone after the test.
final class Folder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "bramley-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appending(path: name).path }

  func write(_ text: String, _ name: String) throws -> String {
    try text.write(to: url.appending(path: name), atomically: true, encoding: .utf8)
    return path(name)
  }
}

/// Waits until it holds, and fails the test if it does not in time.
func waitUntil(within seconds: Double = 60, _ what: String, _ condition: () -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while !condition() {
    try #require(ContinuousClock.now < deadline, "waited in vain for \(what)")
    try await Task.sleep(for: .milliseconds(10))
  }
}
