import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import Foundation
import System
import Testing
import Transport

@Suite("bramley serve in front of a provider on the network")
struct LiveServeTests {
  private static let key = "sk-upstream-0123456789abcdef"

  /// Runs the body with a simulated provider behind a socket, and `serve` in front of it.
  private func withServer(
    _ body: (_ server: Program, _ ask: (String) async throws -> (code: Int32, output: String, errors: String))
      async throws -> Void
  ) async throws {
    let loops = try EventLoopGroup(loops: 1)
    let provider = SimulatedAnthropic(
      apiKey: Self.key, now: { WallClock.seconds }, sleep: { try await loops.next().sleep(for: $0) })
    let any = try #require(SocketAddress("127.0.0.1:0"))
    let upstream = try await HTTPServer(provider, on: [any], loops: loops)
    let folder = try Folder()

    // The phone, and its Apple, are made by the first attempt, which reaches nobody.
    let data = folder.path("phones")
    let nobody = ["simulate", "ask", "hello", "--data", data, "--server", "http://127.0.0.1:1"]
    #expect(try await Program.run(nobody, in: folder).code == 1)
    let trust = try fingerprint(of: data + "/simulated-apple.pem")
    // The audience is the address, so the port must be known before; another program's port is another try.
    var started: (server: Program, port: Int)?
    for _ in 0..<20 where started == nil {
      let port = TestPorts.deal()
      let file = try folder.write(
        configuration(port: port, data: folder.path("data"), phones: data, trust, "\(upstream.addresses[0])"),
        "bramley.jsonc")
      let candidate = try Program(["serve", "--config", file], in: folder, environment: ["KEY": Self.key])
      try await waitUntil("the server") {
        candidate.errorText.contains("serving on") || !candidate.isRunning
      }
      if candidate.isRunning {
        started = (candidate, port)
      } else {
        try #require(candidate.errorText.contains("cannot listen"), "\(candidate.errorText)")
      }
    }
    let (server, port) = try #require(started)
    try await body(server) { question in
      try await Program.run(
        ["simulate", "ask", question, "--data", data, "--server", "http://127.0.0.1:\(port)"], in: folder)
    }
    server.kill(SIGTERM)
    #expect(try await server.exitCode() == 0)
    await upstream.shutdown(within: .seconds(1))
    loops.stop()
  }

  private func configuration(
    port: Int, data: String, phones: String, _ fingerprint: String, _ upstream: String
  ) -> String {
    """
    {
      "listen": "127.0.0.1:\(port)", "admin": { "listen": "127.0.0.1:0" }, "data": "\(data)",
      "attest": {
        "apps": [{ "app_id": "SIMULATED0.com.example.bramley", "environments": ["development"] }],
        "trust": { "certificate": "\(phones)/simulated-apple.pem", "fingerprint": "\(fingerprint)" }
      },
      "providers": {
        "anthropic": {
          "base_url": "http://\(upstream)", "api_key": { "env": "KEY" }, "models": ["claude-haiku-4-5"]
        }
      }
    }
    """
  }

  private func fingerprint(of path: String) throws -> String {
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    let der = try #require(Base64.decode(lines.dropFirst().dropLast().joined()))
    return Hex.encode(SHA256.hash(der))
  }

  @Test("an attested question is streamed from there")
  func stream() async throws {
    try await withServer { server, ask in
      let answer = try await ask("What is a pear?")
      #expect(answer.code == 0, "\(answer.errors) \(server.errorText)")
      #expect(answer.output.contains("What is a pear?"))
    }
  }

  @Test("RULES §6.4: the key is in no answer and no line of the log, though the provider repeats it")
  func echo() async throws {
    try await withServer { server, ask in
      for question in ["[simulate: echo key] hello", "[simulate: error 400] [simulate: echo key] hello"] {
        let answer = try await ask(question)
        #expect(answer.code == 1, "\(answer.output)")
        #expect(!answer.output.contains(Self.key))
        #expect(!answer.errors.contains(Self.key))
      }
      #expect(!server.errorText.contains(Self.key))
      #expect(server.errorText.contains("secret_in_answer"), "\(server.errorText)")
    }
  }

  @Test("a provider that is not there is no 401, and the server lives on")
  func gone() async throws {
    try await withServer { server, ask in
      let refused = try await ask("[simulate: error 401] hello")
      #expect(refused.errors.contains("(503)"), "\(refused.errors)")
      let broken = try await ask("[simulate: drop after 2] hello")
      #expect(broken.code == 1)
      let good = try await ask("hello")
      #expect(good.code == 0, "\(good.errors)")
      #expect(server.isRunning)
    }
  }
}
