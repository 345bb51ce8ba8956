import HTTPMessages
import Server
import Synchronization
import System
import Testing
import Transport

@testable import bramley

/// With real sockets: the client that Compose makes, and a server of this machine in the place of others'.
@Suite("The network outside") struct OutsideNetworkTests {
  private final class Elsewhere: HTTPHandler {
    let asked = Mutex<[String]>([])

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
      asked.withLock { $0.append(request.target) }
      switch request.target {
      case "/hang":
        try await Task.sleep(for: .seconds(60))
        return HTTPResponse(status: 200)
      case "/redirect": return HTTPResponse(status: 302, fields: ["Location": "/redirected"])
      case "/huge": return HTTPResponse(status: 200, body: HTTPBody(String(repeating: "x", count: 100_000)))
      default: return HTTPResponse(status: 200, body: HTTPBody("ok"))
      }
    }
  }

  /// Runs with a client as the deployment has it; the closure gets the port of the other server.
  private func scene(
    _ deployment: Configuration.Deployment, allowed: [String] = [], total: Duration = .seconds(5),
    _ body: (HTTPClient, UInt16, Elsewhere) async throws -> Void
  ) async throws {
    var configuration = Configuration()
    configuration.deployment = deployment
    configuration.allowedAddresses = allowed.compactMap { AddressBlock($0) }
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let elsewhere = Elsewhere()
    let address = try #require(SocketAddress("127.0.0.1:0"))
    let server = try await HTTPServer(elsewhere, on: [address], loops: loops)
    let port = try #require(ListenAddress("\(server.addresses[0])")).port
    let client = try HTTPClient(on: loops, Compose.outsideSettings(configuration, total: total))
    try await body(client, port, elsewhere)
    client.stop()
    await server.shutdown(within: .milliseconds(10))
  }

  private func ask(
    _ client: HTTPClient, _ authority: String, _ target: String = "/", limit: Int = 1_000
  ) async -> (text: String?, error: (any Error)?) {
    let policy = OutsidePolicy(
      hosts: ["127.0.0.1", "localhost"], maximumSize: limit, allowsLoopback: true)
    do {
      let response = try await OutsideClient(client, policy).respond(
        to: HTTPRequest(method: .get, authority: authority, target: target))
      return (String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self), nil)
    } catch {
      return (nil, error)
    }
  }

  @Test("RULES §6.3: in production a name that leads to this machine gets nowhere")
  func production() async throws {
    try await scene(.production) { client, port, elsewhere in
      for host in ["127.0.0.1", "localhost"] {
        let error = await ask(client, "\(host):\(port)").error
        #expect(error as? HTTPClientError == .addressForbidden)
      }
      #expect(elsewhere.asked.withLock { $0 } == [])
    }
  }

  @Test("RULES §6.3: an address that the configuration allows is reached, in development this machine")
  func allowed() async throws {
    try await scene(.production, allowed: ["127.0.0.0/8"]) { client, port, _ in
      #expect(await ask(client, "127.0.0.1:\(port)").text == "ok")
    }
    try await scene(.production, allowed: ["10.0.0.0/8"]) { client, port, _ in
      #expect(await ask(client, "127.0.0.1:\(port)").error as? HTTPClientError == .addressForbidden)
    }
    try await scene(.development) { client, port, _ in
      #expect(await ask(client, "localhost:\(port)").text == "ok")
    }
  }

  @Test("RULES §6.3: who hangs is left, who sends elsewhere is not followed, who says too much is cut off")
  func manners() async throws {
    try await scene(.development, total: .milliseconds(300)) { client, port, elsewhere in
      let authority = "127.0.0.1:\(port)"
      let hanging = await ask(client, authority, "/hang").error as? HTTPClientError
      #expect(hanging == .timedOut(.head) || hanging == .timedOut(.total))
      #expect(
        await ask(client, authority, "/redirect").error as? OutsidePolicy.Refusal == .redirect(status: 302))
      #expect(await ask(client, authority, "/huge").error as? HTTPBodyError == .tooLarge(limit: 1_000))
      #expect(elsewhere.asked.withLock { $0 } == ["/hang", "/redirect", "/huge"])
    }
  }
}
