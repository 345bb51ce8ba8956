package import HTTPMessages

/// Where signed calls go, and what signs them.
package struct WebhookTarget: Sendable, Equatable {
  /// As it is written.
  package let url: String
  package let scheme: String
  /// Host and port.
  package let authority: String
  /// Path and query.
  package let target: String
  package var secrets: [WebhookSecret]

  /// Nil for what is no URL: user information, fragment, an odd character.
  package init?(_ url: String, secrets: [WebhookSecret]) {
    let scheme = String(url.prefix { $0 != ":" })
    guard url.hasPrefix("\(scheme)://") else { return nil }
    let rest = url.dropFirst(scheme.count + 3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard let base = BaseURL("\(scheme)://\(authority)") else { return nil }
    let tail = rest.dropFirst(authority.count)
    guard tail.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") }) else { return nil }
    self.url = url
    self.scheme = base.scheme
    self.authority = base.authority
    target = tail.hasPrefix("/") ? String(tail) : "/\(tail)"
    self.secrets = secrets
  }

  /// Its host, for an ``OutsidePolicy``.
  package var host: String { OutsidePolicy.parts(authority).host }

  /// A signed request (Standard Webhooks).
  ///
  /// - Parameters:
  ///   - id: the same for every attempt, so that the receiver can tell repeats.
  ///   - time: of this attempt, seconds since 1970.
  package func request(id: String, time: Int64, body: [UInt8]) -> HTTPRequest {
    let signatures = secrets.map { $0.signature(id: id, timestamp: time, body: body) }
    return HTTPRequest(
      method: .post, scheme: scheme, authority: authority, target: target,
      fields: [
        "Content-Type": "application/json", "User-Agent": "Bramley", "webhook-id": id,
        "webhook-timestamp": "\(time)", "webhook-signature": signatures.joined(separator: " "),
      ], body: HTTPBody(body))
  }
}
