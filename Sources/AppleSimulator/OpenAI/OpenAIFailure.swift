import Encodings
import HTTPMessages

/// An error of OpenAI's API: a status, and a message, a type, a parameter and a code in its envelope.
struct OpenAIFailure: Error, Equatable {
  var status: Int
  var message: String
  var type: String
  var parameter: String?
  var code: String?
  /// `retry-after`, seconds.
  var retryAfter: Int?
  /// A page of a proxy instead of the envelope.
  var asPage = false

  init(
    status: Int = 400, _ message: String, type: String = "invalid_request_error", parameter: String? = nil,
    code: String? = nil
  ) {
    self.status = status
    self.message = message
    self.type = type
    self.parameter = parameter
    self.code = code
  }

  /// The error that an instruction asks for; with `echo key` its message repeats the caller's key.
  init(simulated status: Int, in simulation: Simulation, key: String) {
    if simulation.noCredit {
      self.init(
        status: 429, "You exceeded your current quota, please check your plan and billing details.",
        type: "insufficient_quota", code: "insufficient_quota")
    } else {
      let known = Self.known[status] ?? (status < 500 ? "invalid_request_error" : "server_error", nil)
      self.init(status: status, "Simulated error", type: known.0, code: known.1)
    }
    if simulation.echoKey { message += ": key \(key) of this organization" }
    retryAfter = simulation.retryAfter
    asPage = simulation.page
  }

  var envelope: JSONValue {
    [
      "error": [
        "message": .string(message), "type": .string(type), "param": parameter.map { .string($0) } ?? nil,
        "code": code.map { .string($0) } ?? nil,
      ]
    ]
  }

  func response(_ heading: OpenAIHeading) -> HTTPResponse {
    var response = heading.json(envelope)
    response.status = status
    if asPage {
      response.fields["content-type"] = "text/html; charset=UTF-8"
      response.body = HTTPBody("<html><head><title>\(status)</title></head><body>\(message)</body></html>")
    }
    if let retryAfter { response.fields["retry-after"] = String(retryAfter) }
    if status == 429 { response.fields["x-ratelimit-remaining-requests"] = "0" }
    return response
  }

  private static let known: [Int: (String, String?)] = [
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"), 429: ("requests", "rate_limit_exceeded"),
    413: ("invalid_request_error", "request_too_large"),
  ]
}
