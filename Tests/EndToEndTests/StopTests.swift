import Foundation
import Testing

@Suite("Stopping the server")
struct StopTests {
  @Test("a running answer ends, new connections are refused, and the exit code is 0")
  func graceful() async throws {
    let server = try await DevelopmentServer()
    let asking = try Program(
      ["simulate", "ask", "[simulate: pace 150ms] one two three four five"] + server.phone, in: server.folder)
    try await waitUntil("the first piece") { !asking.text.isEmpty }
    server.program.kill(SIGTERM)
    try await waitUntil("the server to stop accepting") {
      server.program.errorText.contains("stopping")
    }
    #expect(try await status("\(server.base)/health") == 0)
    #expect(server.program.isRunning)
    #expect(try await asking.exitCode() == 0, "\(asking.errorText)")
    #expect(asking.text.contains("five"))
    #expect(try await server.program.exitCode(within: 15) == 0)
  }

  @Test("a second signal ends it at once, with 1")
  func twice() async throws {
    let server = try await DevelopmentServer()
    let asking = try Program(
      ["simulate", "ask", "[simulate: stall] hello"] + server.phone, in: server.folder)
    try await waitUntil("the first piece") { !asking.text.isEmpty }
    server.program.kill(SIGINT)
    try await waitUntil("the server to stop accepting") { server.program.errorText.contains("stopping") }
    server.program.kill(SIGINT)
    #expect(try await server.program.exitCode(within: 5) == 1)
    asking.kill(SIGKILL)
  }
}
