import AppleSimulator
import Cryptography
import Encodings
import HTTPMessages
import Testing

@testable import Server

/// A browser on its way from the app to Apple and back.
struct Browser {
  let apple: AppleServer
  let verifier = Base64.encodeURL(SecureRandom.bytes(48))
  /// As `name=value`, oldest first.
  var cookies: [String] = []

  init(_ apple: AppleServer) { self.apple = apple }

  var challenge: String { Base64.encodeURL(SHA256.hash(verifier)) }

  func query(_ redirect: String = AppleServer.redirect) -> String {
    FormParameters([
      ("provider", "apple"), ("redirect_to", redirect), ("code_challenge", challenge),
      ("code_challenge_method", "s256"),
    ]).text
  }

  private var sent: HTTPFields {
    cookies.isEmpty ? [:] : ["cookie": (["a=b"] + cookies).joined(separator: "; ")]
  }

  /// Goes to `authorize`; Apple's URL.
  mutating func authorize(_ redirect: String = AppleServer.redirect) async throws -> String {
    let response = try await apple.server.ask(.get, "/authorize?" + query(redirect), fields: sent)
    try #require(response.status == 302)
    let lines = response.fields.values("set-cookie")
    try #require(!lines.isEmpty)
    for line in lines {
      #expect(line.contains("; Path=/auth/v1; "))
      #expect(line.contains("HttpOnly; SameSite=Lax; Secure"))
      let pair = String(line.prefix { $0 != ";" })
      cookies.removeAll { $0.prefix { $0 != "=" } == pair.prefix { $0 != "=" } }
      if !line.contains("Max-Age=0;") { cookies.append(pair) }
    }
    return try #require(response.fields["location"])
  }

  /// Consents at Apple, posts its form, and follows the redirection; where that ends.
  func consent(_ url: String, _ account: String = AppleServer.ada) async throws -> String {
    let redirect = try await apple.apple.authorize(url: url, account: account)
    let posted = try await post(redirect)
    try #require(posted.status == 303)
    return try await follow(posted)
  }

  func post(_ redirect: SimulatedRedirect) async throws -> HTTPResponse {
    var request = redirect.request
    request.peer = "192.0.2.1"
    return try await apple.server.whole.send(request)
  }

  func follow(_ response: HTTPResponse) async throws -> String {
    let location = try #require(response.fields["location"])
    let target = try #require(location.split(separator: WholeServer.audience).first)
    let next = try await apple.server.whole.send(
      HTTPRequest(
        method: .get, target: String(target), fields: sent, peer: "192.0.2.1"))
    return try #require(next.fields["location"])
  }

  func exchange(_ code: String, verifier: String? = nil) async throws -> HTTPResponse {
    let body: JSONValue = [
      "auth_code": .string(code), "code_verifier": .string(verifier ?? self.verifier),
    ]
    return try await apple.server.ask(.post, "/token?grant_type=pkce", body.text)
  }

  static func parameters(_ url: String) -> FormParameters {
    FormParameters(parsing: url.split(separator: "?").dropFirst().first?.prefix { $0 != "#" } ?? "")
      ?? FormParameters()
  }
}
