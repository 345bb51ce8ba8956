import Encodings
import HTTPMessages

/// A refusal of the simulated Apple's, as OAuth has it (RFC 6749 §5.2), with its reason for whoever runs it: Apple
/// itself gives away little.
struct AppleIDRefusal: Error {
  let error: String
  var detail: String?
  var reason: String?

  init(_ error: String, detail: String? = nil, reason: String? = nil) {
    self.error = error
    self.detail = detail
    self.reason = reason
  }

  static func client(_ reason: String) -> AppleIDRefusal { AppleIDRefusal("invalid_client", reason: reason) }
  static func grant(_ detail: String) -> AppleIDRefusal { AppleIDRefusal("invalid_grant", detail: detail) }
  static func request(_ reason: String) -> AppleIDRefusal {
    AppleIDRefusal("invalid_request", reason: reason)
  }

  var response: HTTPResponse {
    var members: [(String, JSONValue)] = [("error", .string(error))]
    if let detail { members.append(("error_description", .string(detail))) }
    return HTTPResponse(
      status: 400,
      fields: ["content-type": "application/json;charset=ISO-8859-1", "cache-control": "no-store"],
      body: HTTPBody(JSONValue.object(members).bytes))
  }
}
