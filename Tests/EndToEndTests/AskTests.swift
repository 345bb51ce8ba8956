import BramleyTesting
import Foundation
import Testing
import Transport

@Suite("A simulated phone against bramley dev")
struct AskTests {
  @Test("it proves itself and gets an answer; the allowance goes down; then the quota's code and 1")
  func allowance() async throws {
    let server = try await DevelopmentServer(daily: 2)
    let first = try await server.ask("What is an apple?")
    #expect(first.code == 0, "\(first.errors)")
    #expect(first.output.contains("What is an apple?"))
    #expect(first.output.hasSuffix("\n"))
    #expect(first.errors.contains("daily: 1 left"))
    #expect(try await server.ask("again").errors.contains("daily: 0 left"))

    let refused = try await server.ask("and again")
    #expect(refused.code == 1)
    #expect(refused.output.isEmpty)
    #expect(refused.errors.hasPrefix("bramley: quota_exceeded (429)"), "\(refused.errors)")

    // Another phone has an allowance of its own.
    #expect(try await server.ask("me too", device: "other").code == 0)
    #expect(try await server.stop() == 0)
  }

  @Test("a restarted server knows the phone and what it has left")
  func restart() async throws {
    let server = try await DevelopmentServer(daily: 3)
    #expect(try await server.ask("one").code == 0)
    server.program.kill(SIGKILL)
    _ = try await server.program.exitCode()

    let again = try await DevelopmentServer(daily: 3, after: server)
    let answer = try await again.ask("two")
    #expect(answer.errors.contains("daily: 1 left"), "\(answer.errors)")
    #expect(!again.program.errorText.contains("key_registered"))
    #expect(try await again.stop() == 0)
  }

  @Test("nobody there is one line and 1")
  func nobody() async throws {
    let folder = try Folder()
    let run = try await Program.run(
      ["simulate", "ask", "hello", "--server", "http://127.0.0.1:1", "--data", folder.path("data")],
      in: folder)
    #expect(run.code == 1)
    #expect(run.errors == "bramley: nobody answers at http://127.0.0.1:1; is the server running?\n")
  }

  @Test("the keys of the simulated Apple and of the phones are readable by their owner alone")
  func modes() async throws {
    let server = try await DevelopmentServer()
    #expect(try await server.ask("hello").code == 0)
    let data = server.folder.url.appending(path: "data")
    let files = try #require(FileManager.default.enumerator(atPath: data.path))
    var count = 0
    for case let name as String in files {
      let attributes = try FileManager.default.attributesOfItem(atPath: data.appending(path: name).path)
      let mode = try #require(attributes[.posixPermissions] as? Int)
      #expect(mode & 0o077 == 0, "\(name) has mode \(String(mode, radix: 8))")
      count += 1
    }
    #expect(count >= 4)
  }

  @Test("two processes do not share one phone")
  func claim() async throws {
    let server = try await DevelopmentServer()
    let slow = try Program(
      ["simulate", "ask", "[simulate: stall] hello"] + server.phone, in: server.folder)
    try await waitUntil("the first piece") { !slow.text.isEmpty }
    let second = try await server.ask("hello")
    #expect(second.code == 1)
    #expect(second.errors.contains("--device"))
    slow.kill(SIGKILL)
  }

  @Test("RULES §1.2: a server on all addresses takes what was signed for any of them")
  func network() async throws {
    let folder = try Folder()
    let port = TestPorts.deal()
    let data = folder.path("data")
    let server = try Program(["dev", "--listen", "0.0.0.0:\(port)", "--data", data], in: folder)
    try await waitUntil("the tour") { server.text.contains("Control-C ends it") || !server.isRunning }
    try #require(server.isRunning)
    var hosts = ["127.0.0.1", "localhost", "0.0.0.0"]
    hosts += LocalAddresses.all.filter { !$0.isIPv6 }.map(\.host)
    for (index, host) in hosts.enumerated() {
      let answer = try await Program.run(
        [
          "simulate", "ask", "hello", "--server", "http://\(host):\(port)", "--data", data, "--device",
          "phone\(index)",
        ], in: folder)
      #expect(answer.code == 0, "\(host): \(answer.errors)")
      if index > 2 { #expect(server.text.contains("http://\(host):\(port)"), "\(server.text)") }
    }
    server.kill(SIGTERM)
    #expect(try await server.exitCode() == 0)
  }
}
