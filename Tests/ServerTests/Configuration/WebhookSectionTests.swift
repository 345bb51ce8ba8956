import Accounts
import Encodings
import Foundation
import Testing

@testable import Server

@Suite("The configuration of events and hooks") struct WebhookSectionTests {
  private static let secret = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32))

  private static func read(_ text: String, secret: String = secret) throws -> Configuration {
    try Configuration.read(
      ConfigurationSources(text: Array(text.utf8), variables: ["S": secret], zoneExists: { _ in true }))
  }

  private static func mistakes(_ text: String, secret: String = secret) -> [String] {
    do {
      _ = try read(text, secret: secret)
      return []
    } catch {
      return (error as? ConfigurationMistakes)?.mistakes.map { "\($0.path): \($0.problem)" } ?? []
    }
  }

  private static func endpoint(_ url: String, more: String = "", production: Bool = true) -> String {
    """
    { "environment": "\(production ? "production" : "development")",
      "attest": { "audiences": ["https://api.example.com"], "apps": [{ "app_id": "ABCDE12345.com.example" }] },
      "events": { "endpoints": [{ "url": "\(url)", "secret": { "env": "S" }\(more) }] } }
    """
  }

  @Test("an endpoint takes every type unless it says which")
  func endpoints() throws {
    let all = try Self.read(Self.endpoint("https://a.example/h"))
    #expect(all.eventEndpoints.map(\.kinds) == [Set(OutgoingEvent.Kind.allCases)])
    let some = try Self.read(Self.endpoint("https://a.example/h", more: #", "types": ["user.deleted"]"#))
    #expect(some.eventEndpoints.map(\.kinds) == [[.userDeleted]])
  }

  @Test("RULES §6.3: https without a port, but for this machine in development")
  func places() {
    #expect(
      Self.mistakes(Self.endpoint("http://a.example/h")) == ["events.endpoints[0].url: only https is asked"])
    #expect(
      Self.mistakes(Self.endpoint("https://a.example:8443/h"))
        == ["events.endpoints[0].url: only port 443 is asked"])
    #expect(
      Self.mistakes(Self.endpoint("http://127.0.0.1:9000/h")) == [
        "events.endpoints[0].url: only https is asked"
      ])
    #expect(Self.mistakes(Self.endpoint("http://127.0.0.1:9000/h", production: false)) == [])
    #expect(Self.mistakes(Self.endpoint("http://10.0.0.1/h", production: false)).count == 1)
    #expect(Self.mistakes(Self.endpoint("no url")) == ["events.endpoints[0].url: this is no URL"])
  }

  @Test("mistakes are named, and no secret with them")
  func mistakes() {
    let wrong = Self.mistakes(Self.endpoint("https://a.example/h"), secret: "very-secret")
    #expect(wrong == ["events.endpoints[0].secret: this is no secret of Standard Webhooks"])
    #expect(
      Self.mistakes(Self.endpoint("https://a.example/h", more: #", "types": ["user.delete"]"#))
        == ["events.endpoints[0].types[0]: there is no such type of event"])
    #expect(
      Self.mistakes(#"{ "hooks": { "custom_access_token": { "url": "https://a.example" } } }"#)
        == ["hooks.custom_access_token.secret: the secret is missing"])
    #expect(
      Self.mistakes(#"{ "outside": { "allowed_addresses": ["10.0.0.0/33"] } }"#)
        == ["outside.allowed_addresses[0]: this is no address block"])
  }

  @Test("a hook's secret is taken as Supabase writes it, and by variables alone")
  func hooks() throws {
    let configuration = try Configuration.read(
      ConfigurationSources(variables: [
        "BRAMLEY_HOOKS_BEFORE_USER_CREATED_URL": "https://a.example/hook",
        "BRAMLEY_HOOKS_BEFORE_USER_CREATED_SECRET": "v1,\(Self.secret)",
      ]))
    #expect(configuration.hooks.beforeUserCreated?.host == "a.example")
    #expect(configuration.hooks.beforeUserCreated?.secrets.count == 1)
    #expect(configuration.hooks.customAccessToken == nil)
  }

  @Test("the examples of docs/events.md are good")
  func documented() throws {
    let document = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/events.md")
    let blocks = try String(contentsOf: document, encoding: .utf8).components(separatedBy: "```jsonc\n")
      .dropFirst()
      .compactMap { $0.components(separatedBy: "\n```").first }
    #expect(blocks.count == 3)
    let configuration = try Configuration.read(
      ConfigurationSources(
        text: Array("{ \(blocks.joined(separator: ",\n")) }".utf8),
        variables: ["BRAMLEY_EVENTS_SECRET": Self.secret, "HOOK_SECRET": Self.secret],
        zoneExists: { _ in true }))
    #expect(configuration.eventEndpoints.count == 1 && configuration.allowedAddresses.count == 1)
    #expect(configuration.hooks.beforeUserCreated != nil && configuration.hooks.customAccessToken != nil)
  }

  @Test("commands on the database need none of the secrets")
  func commands() throws {
    let text = Array(Self.endpoint("https://a.example/h").utf8)
    _ = try Configuration.read(
      ConfigurationSources(text: text, zoneExists: { _ in true }), for: .databaseCommand)
  }
}
