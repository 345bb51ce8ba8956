import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /health`: the process lives.
struct Health: Endpoint {
  let method = HTTPMethod.get
  let path = "/health"

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    .json(["status": "ok"])
  }
}

/// `GET /ready`: the database answers, so requests can be let in.
struct Ready: Endpoint {
  let method = HTTPMethod.get
  let path = "/ready"
  let isReady: @Sendable () async -> Bool

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    guard await isReady() else {
      throw Failure(
        503, .unavailable, "The database does not answer.", fields: ["retry-after": "5"])
    }
    return .json(["status": "ready"])
  }
}

extension HTTPResponse {
  /// A JSON document.
  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, fields: ["content-type": "application/json"], body: HTTPBody(value.bytes))
  }
}
