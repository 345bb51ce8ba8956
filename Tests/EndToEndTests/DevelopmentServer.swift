import BramleyTesting
import Foundation
import Testing

/// `bramley dev` in a folder of its own.
final class DevelopmentServer {
  let folder: Folder
  let program: Program
  let base: String

  private let port: Int

  /// Starts it, and waits until it serves. `after` is one that ended: its folder and its port are used again.
  ///
  /// - Parameter more: further arguments.
  init(
    daily: Int = 20, data: String? = nil, more: [String] = [], after last: DevelopmentServer? = nil
  ) async throws {
    folder = try last?.folder ?? Folder()
    let data = data ?? folder.path("data")
    var tries = 0
    while true {
      tries += 1
      try #require(tries <= 20, "no port could be had")
      // Below the ports that the system hands out; another program's port is another try.
      let port = last?.port ?? TestPorts.deal()
      let candidate = try Program(
        ["dev", "--listen", "127.0.0.1:\(port)", "--data", data, "--daily", "\(daily)"] + more, in: folder)
      try await waitUntil("the tour") {
        candidate.text.contains("Control-C ends it") || !candidate.isRunning
      }
      if candidate.isRunning {
        base = "http://127.0.0.1:\(port)"
        program = candidate
        self.port = port
        return
      }
      try #require(candidate.errorText.contains("cannot listen"), "\(candidate.errorText)")
    }
  }

  deinit { program.kill(SIGKILL) }

  /// The arguments that point a simulated phone at it.
  var phone: [String] { ["--server", base, "--data", folder.path("data")] }

  /// `bramley simulate ask`, to its end.
  func ask(
    _ question: String, device: String = "phone"
  ) async throws -> (code: Int32, output: String, errors: String) {
    try await Program.run(["simulate", "ask", question, "--device", device] + phone, in: folder)
  }

  /// Ends it as an operator does; its exit code.
  func stop() async throws -> Int32 {
    program.kill(SIGTERM)
    return try await program.exitCode()
  }
}

/// The status of a request by curl; 0 when there was no answer.
func status(_ url: String, _ arguments: [String] = []) async throws -> Int {
  let process = Process()
  let pipe = Pipe()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments =
    ["curl", "-s", "-o", "/dev/null", "--max-time", "10", "-w", "%{http_code}"] + arguments + [url]
  process.standardOutput = pipe
  try process.run()
  try await waitUntil("curl") { !process.isRunning }
  let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
  return Int(String(decoding: data, as: UTF8.self)) ?? 0
}
