import HTTPMessages

/// Who calls, and by which version of the API.
struct AnthropicCaller {
  /// The key as it came.
  let key: String
  /// `anthropic-version`.
  let version: String

  static let versions = ["2023-01-01", "2023-06-01", "2026-10-21"]

  /// Checks the credential first and the version then, as the real API does.
  init(_ fields: HTTPFields, apiKey: String) throws(AnthropicFailure) {
    guard let key = fields["x-api-key"] ?? Self.bearer(fields) else {
      throw AnthropicFailure(
        status: 401, type: "authentication_error", message: "x-api-key header is required")
    }
    guard key == apiKey else {
      throw AnthropicFailure(status: 401, type: "authentication_error", message: "invalid x-api-key")
    }
    guard let version = fields["anthropic-version"] else {
      throw .invalid("anthropic-version: header is required")
    }
    guard Self.versions.contains(version) else {
      throw .invalid("anthropic-version: \(version) is not a valid version")
    }
    self.key = key
    self.version = version
  }

  private static func bearer(_ fields: HTTPFields) -> String? {
    guard let value = fields["authorization"], value.lowercased().hasPrefix("bearer ") else { return nil }
    return String(value.dropFirst("bearer ".count))
  }
}
