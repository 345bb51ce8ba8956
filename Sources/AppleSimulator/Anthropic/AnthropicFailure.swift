import Encodings
import HTTPMessages

/// An error of Anthropic's API: a status, a type and a message in its envelope.
struct AnthropicFailure: Error, Equatable {
  var status: Int
  var type: String
  var message: String
  /// `retry-after`, seconds.
  var retryAfter: Int?
  /// A page of a proxy instead of the envelope, as an edge in front of the API answers.
  var asPage = false

  init(status: Int, type: String, message: String) {
    self.status = status
    self.type = type
    self.message = message
  }

  /// The error that an instruction asks for; with `echo key` its message repeats the caller's key, which no
  /// meter may let through.
  init(simulated status: Int, in simulation: Simulation, key: String) {
    let known =
      Self.known[status] ?? (status < 500 ? "invalid_request_error" : "api_error", "Simulated error")
    self.init(status: status, type: known.0, message: known.1)
    if simulation.echoKey { message += ": key \(key) of this organization" }
    retryAfter = simulation.retryAfter
    asPage = simulation.page
  }

  /// The envelope; `requestID` stands in it as in the header.
  func envelope(_ requestID: String) -> JSONValue {
    [
      "type": "error", "error": ["type": .string(type), "message": .string(message)],
      "request_id": .string(requestID),
    ]
  }

  func response(_ heading: AnthropicHeading) -> HTTPResponse {
    var response = heading.json(envelope(heading.requestID))
    response.status = status
    if asPage {
      response.fields["content-type"] = "text/html; charset=UTF-8"
      response.body = HTTPBody("<html><head><title>\(status)</title></head><body>\(message)</body></html>")
    }
    if let retryAfter { response.fields["retry-after"] = String(retryAfter) }
    if status == 429 { response.fields["anthropic-ratelimit-requests-remaining"] = "0" }
    if status >= 500 || status == 429 { response.fields["x-should-retry"] = "true" }
    return response
  }

  private static let known: [Int: (String, String)] = [
    400: ("invalid_request_error", "Your credit balance is too low to access the Anthropic API"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your organization has no payment method"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource"),
    404: ("not_found_error", "Not found"),
    409: ("conflict_error", "Conflict"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit"),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "Request timed out"),
    529: ("overloaded_error", "Overloaded"),
  ]
}

extension Error where Self == AnthropicFailure {
  /// 400 `invalid_request_error`.
  static func invalid(_ message: String) -> AnthropicFailure {
    AnthropicFailure(status: 400, type: "invalid_request_error", message: message)
  }
}
