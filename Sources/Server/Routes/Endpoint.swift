import Encodings
import HTTPMessages

/// One route: a method and an exact path.
protocol Endpoint: Sendable {
  var method: HTTPMethod { get }
  /// The path, compared by octets; also the template that log and metrics name.
  var path: String { get }
  /// How errors are written.
  var errors: ErrorStyle { get }
  /// Answers, or throws a ``Failure``.
  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse
}

extension Endpoint {
  var errors: ErrorStyle { .problem }
}

/// How an error is written.
enum ErrorStyle: Sendable {
  /// RFC 9457 problem details.
  case problem
  /// Anthropic's envelope.
  case anthropic

  /// What belongs below a path even where no route is.
  static func of(path: Substring) -> ErrorStyle { path.hasPrefix("/ai/anthropic/") ? .anthropic : .problem }

  func response(_ failure: Failure, requestID: String) -> HTTPResponse {
    var fields = failure.fields
    // RFC 9110 §15.5.2: a 401 says which scheme is asked for.
    if failure.status == 401 { fields["www-authenticate"] = "AppAttest" }
    let body: HTTPBody
    switch self {
    case .problem:
      fields["content-type"] = "application/problem+json"
      body = HTTPBody(failure.problem(requestID: requestID).bytes)
    case .anthropic:
      fields["content-type"] = "application/json"
      fields["request-id"] = requestID
      body = HTTPBody(failure.anthropic(requestID: requestID).bytes)
    }
    return HTTPResponse(status: failure.status, fields: fields, body: body)
  }
}
