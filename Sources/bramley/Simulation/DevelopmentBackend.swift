import Cryptography
import Encodings
import Server

/// The app's backend on a developer's machine: who is told of events by `dev`, and asked by its hooks.
struct DevelopmentBackend: Sendable {
  private let events: WebhookTarget?
  private let hooks: (beforeUserCreated: WebhookTarget, customAccessToken: WebhookTarget)?
  /// Made anew each time.
  private let secret: String

  init(_ arguments: ParsedArguments) throws(UsageError) {
    let secret = "whsec_" + Base64.encode(SecureRandom.bytes(32))
    func target(_ url: String) -> WebhookTarget? {
      guard let target = WebhookTarget(url, secrets: WebhookSecret.list(secret) ?? []) else { return nil }
      let policy = OutsidePolicy(hosts: [target.host], maximumSize: 0, allowsLoopback: true)
      return (try? policy.check(scheme: target.scheme, authority: target.authority)) == nil ? nil : target
    }
    let expected = "http and this machine, such as http://127.0.0.1:9000/x, or https"
    self.secret = secret
    events = try arguments.value("events", expected: expected, as: target)
    hooks = try arguments.value("hooks", expected: expected) { text in
      let base = text.hasSuffix("/") ? String(text.dropLast()) : text
      guard let before = target(base + "/before_user_created"),
        let claims = target(base + "/custom_access_token")
      else { return nil }
      return (before, claims)
    }
  }

  func configure(_ configuration: inout Configuration) {
    configuration.eventEndpoints = [events].compactMap { $0 }.map { .init($0) }
    configuration.hooks.beforeUserCreated = hooks?.beforeUserCreated
    configuration.hooks.customAccessToken = hooks?.customAccessToken
  }

  /// For the tour; empty where there is none.
  var words: String {
    let parts = [
      events.map { "Events go to \($0.url)" }, hooks.map { "Hooks ask \($0.customAccessToken.authority)" },
    ].compactMap { $0 }
    return parts.isEmpty ? "" : "\n\(parts.joined(separator: "; ")), signed with \(secret)"
  }
}
