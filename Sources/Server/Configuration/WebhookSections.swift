package import Accounts
import Encodings

extension Configuration {
  /// Somebody who is told of what happens.
  package struct EventEndpoint: Sendable, Equatable {
    package var target: WebhookTarget
    package var kinds: Set<OutgoingEvent.Kind>

    package init(_ target: WebhookTarget, kinds: Set<OutgoingEvent.Kind> = Set(OutgoingEvent.Kind.allCases)) {
      self.target = target
      self.kinds = kinds
    }
  }

  /// Whom the server asks before it acts.
  package struct Hooks: Sendable, Equatable {
    /// May refuse a new user.
    package var beforeUserCreated: WebhookTarget?
    /// May add claims to access tokens.
    package var customAccessToken: WebhookTarget?

    package init() {}
  }

  /// Reads `events`.
  static func events(_ section: ConfigurationSection, into out: inout Configuration) {
    let deployment = out.deployment
    out.eventEndpoints =
      section.objects("endpoints") { inner in
        let target = target(inner, deployment)
        let types = inner.entry("types")
        guard let target else { return nil }
        var endpoint = EventEndpoint(target)
        if let types { endpoint.kinds = kinds(types) }
        return endpoint
      } ?? []
    var urls: Set<String> = []
    for endpoint in out.eventEndpoints where !urls.insert(endpoint.target.url).inserted {
      section.reading.mistake(
        section.path + ".endpoints", section.here, "an endpoint stands there twice",
        "give all its types in one place")
    }
    if let value = section.entry("retention_days")?.integer(1...3_650) { out.eventRetentionDays = value }
    section.finish()
  }

  /// Reads `hooks`.
  static func hooks(_ section: ConfigurationSection, into out: inout Configuration) {
    func hook(_ name: String) -> WebhookTarget? {
      let inner = section.section(name)
      guard inner.isPresent else { return nil }
      defer { inner.finish() }
      return target(inner, out.deployment)
    }
    out.hooks.beforeUserCreated = hook("before_user_created")
    out.hooks.customAccessToken = hook("custom_access_token")
    section.finish()
  }

  /// Reads `url` and `secret`.
  private static func target(_ section: ConfigurationSection, _ deployment: Deployment) -> WebhookTarget? {
    let url = section.entry("url")
    let secret = section.secret("secret")
    if section.survey { return nil }
    guard let url else {
      section.reading.mistake(
        section.path + ".url", section.here, "the URL is missing", "write where the calls go")
      return nil
    }
    guard let text = url.string() else { return nil }
    var secrets: [WebhookSecret] = []
    if let secret {
      secrets = WebhookSecret.list(secret.value) ?? []
      if secrets.isEmpty {
        section.reading.mistake(
          section.path + ".secret", section.here, "this is no secret of Standard Webhooks",
          "make one: echo whsec_$(openssl rand -base64 32); several are parted by |")
      }
    }
    guard let target = WebhookTarget(text, secrets: secrets) else {
      section.reading.mistake(url, "this is no URL", "write one such as \"https://app.example.com/hooks\"")
      return nil
    }
    let policy = OutsidePolicy(
      hosts: [target.host], maximumSize: 0, allowsLoopback: deployment == .development)
    do {
      try policy.check(scheme: target.scheme, authority: target.authority)
    } catch {
      let problem = error == .port ? "only port 443 is asked" : "only https is asked"
      section.reading.mistake(
        url, problem, "write https:// without a port; in development, http of this machine is taken too")
    }
    return target
  }

  private static func kinds(_ entry: ConfigurationEntry) -> Set<OutgoingEvent.Kind> {
    Set(
      entry.strings().compactMap { text, place in
        if let kind = OutgoingEvent.Kind(rawValue: text) { return kind }
        let all = OutgoingEvent.Kind.allCases.map(\.rawValue)
        let nearest = Suggestion.nearest(to: text, among: all)
        entry.reading.mistake(
          place, "there is no such type of event",
          nearest.map { "did you mean \"\($0)\"?" } ?? "write one of \(all.joined(separator: ", "))")
        return nil
      })
  }
}
