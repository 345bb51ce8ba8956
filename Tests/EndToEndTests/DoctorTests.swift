import BramleyTesting
import Foundation
import HTTPMessages
import System
import Testing
import Transport

/// A proxy in this process that does what proxies are wrongly set up to do.
struct MeddlingProxy: Sendable, HTTPHandler, CustomTestStringConvertible {
  var name: String
  /// The words of the doctor that name the fault; nil for a good proxy.
  var fault: String?
  var target: @Sendable (String) -> String = { $0 }
  var change: @Sendable (inout HTTPRequest) -> Void = { _ in }
  var holdsBack = false
  var client: HTTPClient?
  var upstream = ""
  var testDescription: String { name }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    var passed = HTTPRequest(
      method: request.method, authority: upstream, target: target(request.target), fields: request.fields,
      body: HTTPBody(try await request.body.collect(upTo: 1 << 20)))
    passed.fields["x-forwarded-for"] = "203.0.113.7"
    change(&passed)
    guard let client else { throw CancellationError() }
    var response = try await client.respond(to: passed)
    if holdsBack { response.body = HTTPBody(try await response.body.collect(upTo: 1 << 20)) }
    return response
  }

  private static func replacing(_ text: String, _ word: String, _ other: String) -> String {
    text.replacingOccurrences(of: word, with: other)
  }

  static let all = [
    MeddlingProxy(name: "good", fault: nil),
    MeddlingProxy(name: "decodes %7E", fault: "FAILED  paths", target: { replacing($0, "%7E", "~") }),
    MeddlingProxy(
      name: "merges slashes", fault: "FAILED  paths", target: { replacing($0, "probe//", "probe/") }),
    MeddlingProxy(name: "encodes anew", fault: "FAILED  paths", target: { replacing($0, "%2f", "%2F") }),
    MeddlingProxy(
      name: "sorts the query", fault: "FAILED  paths", target: { replacing($0, "a=2&a=1", "a=1&a=2") }),
    MeddlingProxy(name: "blank as plus", fault: "FAILED  paths", target: { replacing($0, "%20", "+") }),
    MeddlingProxy(
      name: "drops the query", fault: "FAILED  paths", target: { String($0.prefix { $0 != "?" }) }),
    MeddlingProxy(name: "adds a prefix", fault: "have the proxy add nothing", target: { "/v2" + $0 }),
    MeddlingProxy(
      name: "leads elsewhere", fault: "leads it elsewhere", target: { _ in "/health" }),
    MeddlingProxy(
      name: "takes Authorization", fault: "FAILED  header fields",
      change: { $0.fields.remove("authorization") }),
    MeddlingProxy(
      name: "tells no address", fault: "the trusted proxy sends no X-Forwarded-For",
      change: { $0.fields.remove("x-forwarded-for") }),
    MeddlingProxy(name: "holds streams back", fault: "FAILED  streams", holdsBack: true),
  ]
}

@Suite("bramley doctor behind a proxy", .serialized)
struct ProxyDoctorTests {
  /// Runs the doctor with a server behind that proxy; what it printed.
  private func examine(_ proxy: MeddlingProxy, base: String = "", trusted: Bool = true) async throws -> (
    code: Int32, output: String, errors: String
  ) {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let folder = try Folder()
    let port = TestPorts.deal()
    var proxy = proxy
    proxy.client = try HTTPClient(on: loops)
    proxy.upstream = "127.0.0.1:\(port)"
    let front = try await HTTPServer(
      proxy, on: [try #require(SocketAddress("127.0.0.1:0"))], loops: loops)
    let config = try folder.write(
      """
      { "listen": "127.0.0.1:\(port)", "admin": { "listen": "127.0.0.1:0" }, "data": "\(folder.path("data"))",
        "trusted_proxies": \(trusted ? "[\"127.0.0.1\"]" : "[]"),
        "attest": { "audiences": ["http://\(front.addresses[0])\(base)"] } }
      """, "bramley.jsonc")
    let server = try Program(["serve", "--config", config], in: folder)
    try await waitUntil("the server") { server.errorText.contains("serving on") || !server.isRunning }
    let run = try await Program.run(["doctor", "--config", config], in: folder)
    server.kill(SIGTERM)
    _ = try await server.exitCode()
    await front.shutdown(within: .seconds(1))
    return run
  }

  @Test("RULES §1.2: a proxy that rewrites is found, with what to do", arguments: MeddlingProxy.all)
  func proxies(_ proxy: MeddlingProxy) async throws {
    let run = try await examine(proxy)
    let failures = run.output.split(separator: "\n").filter { $0.hasPrefix("FAILED") }
    if let fault = proxy.fault {
      #expect(run.code == 1 && failures.count == 1, "\(run.output)")
      #expect(run.output.contains(fault), "\(run.output)")
    } else {
      #expect(run.code == 0, "\(run.output)\(run.errors)")
      for subject in ["paths", "header fields", "addresses", "streams", "descriptors"] {
        #expect(run.output.contains("ok      \(subject)"), "\(run.output)")
      }
    }
  }

  @Test("a proxy may strip the base's path, and has to")
  func base() async throws {
    let stripping = MeddlingProxy(name: "strips", fault: nil, target: { String($0.dropFirst("/api".count)) })
    #expect(try await examine(stripping, base: "/api").code == 0)
    let leaving = try await examine(MeddlingProxy(name: "leaves", fault: nil), base: "/api")
    #expect(
      leaving.code == 1 && leaving.output.contains("have the proxy take /api away"), "\(leaving.output)")
  }

  @Test("a proxy that is not trusted, and one that is not there")
  func trust() async throws {
    let stranger = try await examine(MeddlingProxy(name: "good", fault: nil), trusted: false)
    #expect(stranger.code == 1 && stranger.output.contains("to trusted_proxies"), "\(stranger.output)")
    let folder = try Folder()
    let config = try folder.write(
      #"{ "data": "d", "attest": { "audiences": ["http://127.0.0.1:1"] } }"#, "bramley.jsonc")
    let nobody = try await Program.run(["doctor", "--config", config], in: folder)
    #expect(
      nobody.code == 1 && nobody.output.contains("http://127.0.0.1:1 does not answer"), "\(nobody.output)")
    let offline = try await Program.run(["doctor", "--offline", "--config", config], in: folder)
    #expect(offline.code == 0, "\(offline.output)")
  }
}
