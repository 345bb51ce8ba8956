import BramleyAPI
import HTTPMessages

/// CORS (WHATWG Fetch §3.2) for listed origins, never with credentials.
struct CrossOrigin: Sendable {
  let origins: Set<String>
  /// Whether every origin of this machine is as good as listed, as in `dev`.
  var allowsLoopback = false

  private static let requestHeaders = [
    "authorization", "content-type", "x-api-key", "anthropic-version", "anthropic-beta",
    "apikey", "x-client-info", "x-region", "idempotency-key", SupabaseVersion.field, AttestFields.keyID,
    AttestFields.assertion,
    AttestFields.challenge, AttestFields.session,
  ].joined(separator: ", ")
  private static let exposed = [
    AttestFields.nextChallenge, "x-request-id", "retry-after", "ratelimit", "ratelimit-policy",
    "x-should-retry", "x-relay-error", Idempotency.replayed, "www-authenticate", "x-total-count", "link",
    SupabaseVersion.field,
  ].joined(separator: ", ")

  /// Adds what lets the page read the answer, where its origin is listed.
  func apply(to response: inout HTTPResponse, for request: HTTPRequest) {
    guard !origins.isEmpty || allowsLoopback else { return }
    response.fields.append("vary", "Origin")
    guard let origin = allowed(request) else { return }
    response.fields["access-control-allow-origin"] = origin
    response.fields["access-control-expose-headers"] = Self.exposed
  }

  /// Adds the answer to a preflight, where the origin is listed.
  func applyPreflight(to response: inout HTTPResponse, for request: HTTPRequest, methods: String) {
    guard allowed(request) != nil, request.fields["access-control-request-method"] != nil else { return }
    response.fields["access-control-allow-methods"] = methods
    response.fields["access-control-allow-headers"] = Self.requestHeaders
    response.fields["access-control-max-age"] = "600"
  }

  private func allowed(_ request: HTTPRequest) -> String? {
    let values = request.fields.values("origin")
    guard values.count == 1, let origin = values.first else { return nil }
    let isOwn = allowsLoopback && BaseURL(origin)?.isLoopback == true
    return isOwn || origins.contains(origin) ? origin : nil
  }
}
