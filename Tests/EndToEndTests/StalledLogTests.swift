import BramleyTesting
import Foundation
import HTTPMessages
import System
import Testing
import Transport

@Suite("A log that nobody reads")
struct StalledLogTests {
  @Test(
    "requests are answered all the same, what is dropped is told, and the server stops when it is asked to")
  func stalled() async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let folder = try Folder()
    let pipe = Pipe()
    let port = TestPorts.deal()
    let server = try Program(
      ["dev", "--listen", "127.0.0.1:\(port)", "--data", folder.path("data")], in: folder,
      errors: pipe.fileHandleForWriting)
    try await waitUntil("the tour") { server.text.contains("Control-C ends it") || !server.isRunning }
    try #require(server.isRunning)
    // A pipe holds 64 KiB, and each line has more than 200 octets.
    for _ in 0..<800 {
      let request = HTTPRequest(method: .get, authority: "127.0.0.1:\(port)", target: "/health")
      let response = try await network.respond(to: request)
      #expect(response.status == 200)
      _ = try await response.body.collect(upTo: 1_000)
    }
    let metrics = try #require(server.text.firstMatch(of: /curl (http:\/\/\S+)\/metrics/)?.1)
    #expect(try await status("\(metrics)/metrics") == 200)
    server.kill(SIGTERM)
    #expect(try await server.exitCode(within: 20) == 0)
    withExtendedLifetime(pipe) {}
  }
}
