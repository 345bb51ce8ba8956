import HTTPMessages

/// The header fields that pass, in both directions; everything else is dropped (RULES §6.4).
enum AnthropicFields {
  /// The fields of the request to Anthropic. The client's credentials, cookies, selectors of a workspace or a
  /// profile, and everything unknown stay behind; the credential is set later.
  static func forwarded(
    _ fields: HTTPFields, policy: AnthropicPolicy
  ) throws(ProviderRefusal) -> HTTPFields {
    try ProviderFields.requireJSON(fields)
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
    var out = ProviderFields.json
    out.append("anthropic-version", version)
    if !betas.isEmpty { out.append("anthropic-beta", betas.joined(separator: ",")) }
    return out
  }

  /// The fields of the answer to the app. Limits and names of the operator's organisation stay behind.
  static func answered(_ fields: HTTPFields) -> HTTPFields {
    ProviderFields.answered(fields, passing: ["content-type", "request-id"])
  }

  private static func trimmed(_ text: Substring) -> String { MediaType.trimmed(text) }
}
