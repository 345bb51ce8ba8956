import HTTPMessages

/// The header fields that pass, in both directions; everything else is dropped (RULES §6.4).
enum AnthropicFields {
  /// The fields of the request to Anthropic. The client's credentials, cookies, selectors of a workspace or a
  /// profile, and everything unknown stay behind; the credential is set later.
  static func forwarded(
    _ fields: HTTPFields, policy: AnthropicPolicy
  ) throws(ProviderRefusal) -> HTTPFields {
    let types = fields.values("content-type")
    guard types.count == 1, let type = types.first, MediaType.essence(type) == "application/json" else {
      throw ProviderRefusal(
        "content_type_not_allowed", status: 415, place: "content-type", "Send application/json.")
    }
    guard fields.values("content-encoding").isEmpty else {
      throw ProviderRefusal(
        "content_encoding_not_allowed", status: 415, place: "content-encoding", "Send the body as it is.")
    }
    let versions = fields.values("anthropic-version")
    let version = versions.first ?? policy.defaultVersion
    guard versions.count <= 1, policy.versions.contains(version) else {
      throw ProviderRefusal(
        "version_not_allowed", place: "anthropic-version",
        "This version is not allowed here; allowed: \(policy.versions.sorted().joined(separator: ", ")).")
    }
    var betas: [String] = []
    for value in fields.values("anthropic-beta") {
      for beta in value.split(separator: ",") {
        let name = trimmed(beta)
        guard policy.betas.contains(name) else {
          throw ProviderRefusal(
            "beta_not_allowed", place: "anthropic-beta", "This beta is not allowed here; leave it out.")
        }
        betas.append(name)
      }
    }
    var out: HTTPFields = [
      "content-type": "application/json", "accept": "application/json, text/event-stream",
      "accept-encoding": "identity", "anthropic-version": version, "user-agent": "bramley",
    ]
    if !betas.isEmpty { out.append("anthropic-beta", betas.joined(separator: ",")) }
    return out
  }

  /// The fields of the answer to the app. Limits and names of the operator's organisation stay behind.
  static func answered(_ fields: HTTPFields) -> HTTPFields {
    var out = HTTPFields()
    for name in ["content-type", "request-id"] {
      if let value = fields[name] { out.append(name, value) }
    }
    // Middleboxes that compress or buffer would hold events back.
    out.append("cache-control", "no-store, no-transform")
    out.append("x-accel-buffering", "no")
    return out
  }

  private static func trimmed(_ text: Substring) -> String { MediaType.trimmed(text) }
}
