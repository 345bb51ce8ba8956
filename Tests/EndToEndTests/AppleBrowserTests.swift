import Cryptography
import Encodings
import Foundation
import HTTPMessages
import System
import Testing
import Transport

@Suite("A browser signs in at the simulated Apple of bramley dev")
struct AppleBrowserTests {
  @Test("authorize, Apple's page, its form post, and grant_type=pkce")
  func wholeWay() async throws {
    let server = try await DevelopmentServer()
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    var browser = Browser(network: try HTTPClient(on: loops), base: server.base)
    let verifier = String(repeating: "v", count: 50)
    let query = FormParameters([
      ("provider", "apple"), ("redirect_to", server.base), ("code_challenge_method", "s256"),
      ("code_challenge", Base64.encodeURL(SHA256.hash(verifier))),
    ])
    let start = try await browser.get(server.base + "/auth/v1/authorize?" + query.text)
    let page = try await browser.get(try #require(start.location))
    #expect(page.text.contains("ada@example.com"))

    // Apple's page sends its form beside itself, then the answer to the server by a form of its own.
    let answer = try await browser.post(
      server.base + "/simulated-apple/auth/authorize",
      Browser.hidden(page.text) + [("account", "ada@example.com"), ("decision", "continue")])
    let action = try #require(answer.text.firstMatch(of: /action="([^"]+)"/)?.1)
    #expect(action == server.base + "/auth/v1/callback")
    var hop = try await browser.post(String(action), Browser.hidden(answer.text))
    var hops = 0
    while let location = hop.location, location.hasPrefix(server.base + "/auth/"), hops < 3 {
      hops += 1
      hop = try await browser.get(location)
    }
    let back = try #require(hop.location, "\(hop.status) \(hop.text)")
    let code = try #require(
      FormParameters(parsing: back.split(separator: "?", maxSplits: 1).last ?? "")?["code"], "\(back)")

    let body: JSONValue = ["auth_code": .string(code), "code_verifier": .string(verifier)]
    let session = try await browser.post(
      server.base + "/auth/v1/token?grant_type=pkce", json: body)
    #expect(session.status == 200, "\(session.text)")
    let user = try JSONReader.read(Array(session.text.utf8))["user"]
    #expect(user?["user_metadata"]?["full_name"]?.string == "Ada Lovelace")
    #expect(!server.program.errorText.contains("apple_code_not_exchanged"), "\(server.program.errorText)")

    // The sheet on a phone is the same person.
    let phone = try await Program.run(
      ["simulate", "apple", "sign-in", "--json"] + server.phone, in: server.folder)
    #expect(phone.code == 0, "\(phone.errors)")
    #expect(try JSONReader.read(Array(phone.output.utf8))["user"]?["id"]?.string == user?["id"]?.string)
    #expect(try await server.stop() == 0)
  }
}

/// As much of a browser as a sign-in needs: it follows nothing by itself, and keeps cookies.
private struct Browser {
  let network: HTTPClient
  let base: String
  private var cookies: [String: String] = [:]

  struct Page {
    let status: Int
    let location: String?
    let text: String
  }

  init(network: HTTPClient, base: String) {
    self.network = network
    self.base = base
  }

  mutating func get(_ url: String) async throws -> Page {
    try await send(.get, url, type: nil, body: "")
  }

  mutating func post(_ url: String, _ form: [(String, String)]) async throws -> Page {
    try await send(
      .post, url, type: "application/x-www-form-urlencoded", body: FormParameters(form).text)
  }

  mutating func post(_ url: String, json: JSONValue) async throws -> Page {
    try await send(.post, url, type: "application/json", body: json.text)
  }

  private mutating func send(
    _ method: HTTPMethod, _ url: String, type: String?, body: String
  ) async throws -> Page {
    let full = url.hasPrefix("/") ? base + url : url
    let authority = String(base.dropFirst("http://".count))
    try #require(full.hasPrefix(base + "/"), "\(url) leads elsewhere")
    var request = HTTPRequest(
      method: method, scheme: "http", authority: authority, target: String(full.dropFirst(base.count)),
      body: HTTPBody(body))
    if let type { request.fields["content-type"] = type }
    if !cookies.isEmpty {
      request.fields["cookie"] = cookies.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "; ")
    }
    let response = try await network.respond(to: request)
    for cookie in response.fields.values("set-cookie") {
      let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
      if pair.count == 2 { cookies[String(pair[0])] = String(pair[1]) }
    }
    let text = String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
    return Page(status: response.status, location: response.fields["location"], text: text)
  }

  /// The hidden fields of a page.
  static func hidden(_ html: String) -> [(String, String)] {
    html.matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/).map {
      (plain($0.1), plain($0.2))
    }
  }

  private static func plain(_ text: Substring) -> String {
    String(text).replacingOccurrences(of: "&quot;", with: "\"").replacingOccurrences(of: "&lt;", with: "<")
      .replacingOccurrences(of: "&gt;", with: ">").replacingOccurrences(of: "&#39;", with: "'")
      .replacingOccurrences(of: "&amp;", with: "&")
  }
}
