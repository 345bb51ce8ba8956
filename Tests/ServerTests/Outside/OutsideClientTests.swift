import BramleyTesting
import HTTPMessages
import Testing

@testable import Server

@Suite("The network outside") struct OutsideClientTests {
  private static let policy = OutsidePolicy(hosts: ["app.example", "*.files.example", "::1"], maximumSize: 4)

  private static func refusal(
    _ url: (String, String), _ policy: OutsidePolicy = policy
  ) -> OutsidePolicy.Refusal? {
    do {
      try policy.check(scheme: url.0, authority: url.1)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "RULES §6.3: listed hosts, https and port 443, nothing else",
    arguments: [
      (("https", "app.example"), nil), (("https", "APP.example:443"), nil),
      (("https", "a.files.example"), nil),
      (("https", "a.b.files.example"), nil), (("https", "files.example"), .host),
      (("https", "afiles.example"), .host), (("https", "app.example.evil.example"), .host),
      (("https", "app.example."), .host), (("https", ""), .host), (("http", "app.example"), .scheme),
      (("HTTPS", "app.example"), .scheme), (("https", "app.example:80"), .port),
      (("https", "app.example:"), .port), (("https", "app.example:0443"), .port), (("https", "[::1]"), nil),
      (("https", "app.example:443:443"), .port), (("https", "127.0.0.1"), .host),
      (("https", "localhost"), .host),
    ] as [((String, String), OutsidePolicy.Refusal?)])
  func check(url: (String, String), refusal: OutsidePolicy.Refusal?) {
    #expect(Self.refusal(url) == refusal)
  }

  @Test("RULES §6.3: in development this machine is asked over http, and only where it is listed")
  func loopback() {
    var policy = OutsidePolicy(hosts: ["127.0.0.1", "localhost", "app.example"], maximumSize: 4)
    #expect(Self.refusal(("http", "127.0.0.1:9000"), policy) == .scheme)
    policy.allowsLoopback = true
    #expect(Self.refusal(("http", "127.0.0.1:9000"), policy) == nil)
    #expect(Self.refusal(("http", "localhost:9000"), policy) == nil)
    #expect(Self.refusal(("http", "127.0.0.2:9000"), policy) == .host)
    #expect(Self.refusal(("http", "app.example"), policy) == .scheme)
  }

  @Test("RULES §6.3: what may not be asked does not reach the network")
  func nothingLeaves() async throws {
    let asked = Recorder<String>()
    let client = OutsideClient(
      Handler { request in
        asked.append(request.authority)
        return HTTPResponse(status: 200)
      }, Self.policy)
    await #expect(throws: OutsidePolicy.Refusal.host) {
      try await client.respond(
        to: HTTPRequest(method: .get, scheme: "https", authority: "evil.example", target: "/"))
    }
    #expect(asked.values.isEmpty)
  }

  @Test(
    "RULES §6.3: a redirect is an error, wherever it leads", arguments: [300, 301, 302, 303, 304, 307, 308])
  func redirect(status: Int) async throws {
    let client = OutsideClient(
      Handler { _ in
        HTTPResponse(status: status, fields: ["Location": "https://app.example/"])
      }, Self.policy)
    await #expect(throws: OutsidePolicy.Refusal.redirect(status: status)) {
      try await client.respond(to: Self.request)
    }
  }

  @Test("RULES §6.3: an answer is cut at its cap, announced, streamed or at hand")
  func size() async throws {
    for (body, fits) in [
      (HTTPBody("1234"), true), (HTTPBody("12345"), false), (HTTPBody(stream: Pieces(["12", "34"])), true),
      (HTTPBody(stream: Pieces(["12", "34", "5"])), false),
      (HTTPBody(stream: Pieces(["12", "34", "5"]), length: 4), false),
      (HTTPBody(stream: Pieces(["1"]), length: 5), false),
    ] {
      let client = OutsideClient(Handler { _ in HTTPResponse(status: 200, body: body) }, Self.policy)
      do {
        let response = try await client.respond(to: Self.request)
        let octets = try await response.body.collect(upTo: 1_000)
        #expect(fits && octets == Array("1234".utf8))
      } catch {
        #expect(!fits && error as? HTTPBodyError == .tooLarge(limit: 4))
      }
    }
  }

  @Test("RULES §6.3: which addresses the configuration allows")
  func addresses() {
    var configuration = Configuration()
    configuration.deployment = .production
    #expect(!configuration.allowsOutside([127, 0, 0, 1]))
    configuration.allowedAddresses = [AddressBlock("10.1.0.0/16")].compactMap { $0 }
    #expect(configuration.allowsOutside([10, 1, 2, 3]))
    #expect(configuration.allowsOutside([UInt8](repeating: 0, count: 10) + [255, 255, 10, 1, 2, 3]))
    #expect(!configuration.allowsOutside([10, 2, 0, 1]))
    #expect(!configuration.allowsOutside([10, 1, 2]))
    #expect(!configuration.allowsOutside([UInt8](repeating: 0, count: 15) + [1]))
    configuration.deployment = .development
    #expect(configuration.allowsOutside([127, 9, 0, 1]))
    #expect(configuration.allowsOutside([UInt8](repeating: 0, count: 15) + [1]))
    #expect(!configuration.allowsOutside([169, 254, 169, 254]))
  }

  private static let request = HTTPRequest(
    method: .get, scheme: "https", authority: "app.example", target: "/")
}

/// A body of these pieces.
private actor Pieces: HTTPBodyStream {
  private var left: [[UInt8]]

  init(_ pieces: [String]) { left = pieces.map { Array($0.utf8) } }

  func next() async throws -> [UInt8]? { left.isEmpty ? nil : left.removeFirst() }

  nonisolated func cancel() {}
}
