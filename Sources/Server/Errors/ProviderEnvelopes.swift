import BramleyAPI
package import Encodings

/// Errors as the providers' own SDKs read them.
extension Failure {
  /// The error in Anthropic's envelope; `details.error_code` is what its SDK shows.
  package func anthropic(requestID: String) -> JSONValue {
    [
      "type": "error",
      "error": .object(
        [
          ("type", .string(providerType ?? Self.anthropicType(status))), ("message", .string(message)),
          ("details", ["error_code": .string(code.rawValue)]), ("code", .string(code.rawValue)),
        ] + members.map { ($0.name, $0.value) }),
      "code": .string(code.rawValue),
      "request_id": .string(requestID),
    ]
  }

  private static func anthropicType(_ status: Int) -> String {
    switch status {
    case 401: "authentication_error"
    case 403: "permission_error"
    case 404: "not_found_error"
    case 413: "request_too_large"
    case 429: "rate_limit_error"
    case 504: "timeout_error"
    case 503, 529: "overloaded_error"
    case 500...: "api_error"
    default: "invalid_request_error"
    }
  }

  /// The error in OpenAI's envelope; its SDKs show `message`, `type` and `code`.
  package func openAI(requestID: String) -> JSONValue {
    [
      "error": .object(
        [
          ("message", .string(message)), ("type", .string(openAIType)), ("param", nil),
          ("code", .string(code.rawValue)),
        ] + members.map { ($0.name, $0.value) }),
      "request_id": .string(requestID),
    ]
  }

  /// OpenAI has one type for what is the server's fault, whatever it was.
  private var openAIType: String {
    switch providerType {
    case "api_error", "overloaded_error", "timeout_error": "server_error"
    case let type?: type
    case nil:
      switch status {
      case 401: "authentication_error"
      case 403: "permission_error"
      case 429: "rate_limit_error"
      case 500...: "server_error"
      default: "invalid_request_error"
      }
    }
  }

  /// The error as fal.ai says it; its clients show `detail` and `error_type`.
  package func fal(requestID: String) -> JSONValue {
    .object(
      [
        ("detail", .string(message)), ("error_type", .string(providerType ?? code.rawValue)),
        ("code", .string(code.rawValue)), ("message", .string(message)),
        ("request_id", .string(requestID)),
      ] + members.map { ($0.name, $0.value) })
  }
}
