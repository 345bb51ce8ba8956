import Glibc
import HTTPMessages
import System
import Testing
import Transport

/// Against `openssl s_server` with a certificate made for the test.
@Suite("HTTPClient: TLS", .enabled(if: Files.exists("/usr/bin/openssl")), .timeLimit(.minutes(1)))
struct HTTPClientTLSTests {
  private static func spawn(_ arguments: [String]) -> pid_t {
    var process: pid_t = 0
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    for descriptor in [Int32(1), 2] {
      unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    // Another process that holds their sockets open would keep other tests from seeing them closed.
    for descriptor in Int32(3)..<1_024 { unsafe posix_spawn_file_actions_addclose(&actions, descriptor) }
    var pointers = unsafe (["/usr/bin/openssl"] + arguments).map { unsafe strdup($0) } + [nil]
    let code = unsafe posix_spawn(&process, "/usr/bin/openssl", &actions, nil, &pointers, environ)
    unsafe pointers.forEach { unsafe free($0) }
    unsafe posix_spawn_file_actions_destroy(&actions)
    return code == 0 ? process : -1
  }

  private static func run(_ arguments: [String]) -> Bool {
    let process = spawn(arguments)
    var status: Int32 = -1
    guard process > 0, unsafe waitpid(process, &status, 0) == process else { return false }
    return status == 0
  }

  /// A port that was free a moment ago.
  private static func freePort() async throws -> UInt16 {
    let peer = try await Peer { _, _ in }
    defer { peer.stop() }
    return peer.port
  }

  @Test("a trusted certificate of that name is accepted, another name or an unknown authority is not")
  func certificates() async throws {
    let directory = "/tmp/bramley-tls-\(getpid())"
    try Files.createDirectory(directory)
    let (key, certificate) = (directory + "/key.pem", directory + "/cert.pem")
    defer {
      for path in [key, certificate] { _ = try? Files.remove(path) }
      _ = unsafe rmdir(directory)
    }
    try #require(
      Self.run([
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
        "-out",
        certificate, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
      ]))
    let port = try await Self.freePort()
    let server = Self.spawn([
      "s_server", "-accept", "127.0.0.1:\(port)", "-key", key, "-cert", certificate, "-www", "-quiet",
    ])
    try #require(server > 0)
    defer {
      // Not SIGTERM: the executor's threads block it, and the process inherits that.
      kill(server, SIGKILL)
      var status: Int32 = 0
      unsafe waitpid(server, &status, 0)
    }

    let group = try EventLoopGroup(loops: 1)
    defer { group.stop() }
    var configuration = HTTPClientConfiguration()
    configuration.certificateAuthorities = certificate
    let trusting = try HTTPClient(on: group, configuration)
    let other = try HTTPClient(on: group)
    defer {
      trusting.stop()
      other.stop()
    }
    func ask(_ client: HTTPClient, _ host: String, _ scheme: String = "https") async -> HTTPClientError? {
      let request = HTTPRequest(method: .get, scheme: scheme, authority: "\(host):\(port)", target: "/")
      do {
        let response = try await client.respond(to: request)
        #expect(response.status == 200)
        #expect(try await response.body.collect(upTo: 1 << 20).isEmpty == false)
        return nil
      } catch {
        return error as? HTTPClientError
      }
    }
    var outcome = await ask(trusting, "localhost")
    for _ in 0..<200 where outcome == .connect {
      try await group.next().sleep(for: .milliseconds(10))
      outcome = await ask(trusting, "localhost")
    }
    #expect(outcome == nil)
    #expect(await ask(trusting, "localhost") == nil)
    #expect(await ask(trusting, "127.0.0.1") == .tls)
    let untrusted = await ask(other, "localhost")
    #expect(untrusted == .tls)
    #expect(untrusted?.requestWritten == false)
  }

  @Test("a server that speaks no TLS is a failure of TLS, before anything was written")
  func plainServer() async throws {
    try await ClientScene.run { _, _ in
    } _: { scene async throws in
      var request = scene.request(.post, body: HTTPBody("x"))
      request.scheme = "https"
      let answer = try await Peer(greeting: "HTTP/1.1 400 Bad Request\r\n\r\n") { _, _ in }
      defer { answer.stop() }
      request.authority = answer.authority
      do {
        _ = try await scene.client.respond(to: request)
        Issue.record("it answered")
      } catch let error as HTTPClientError {
        #expect(error == .tls)
        #expect(!error.requestWritten)
      }
    }
  }
}
