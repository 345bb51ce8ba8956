import Encodings
import HTTPMessages

/// The operator's listener: `/metrics` and `/health`. It has no CORS and is bound to loopback by default.
struct AdminHandler: HTTPHandler {
  let metrics: Metrics

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    var response = answer(request)
    response.fields["x-content-type-options"] = "nosniff"
    response.fields["cache-control"] = "no-store"
    return response
  }

  private func answer(_ request: HTTPRequest) -> HTTPResponse {
    guard request.path == "/metrics" || request.path == "/health" else {
      return ErrorStyle.problem.response(.notFound, requestID: "")
    }
    guard request.method == .get || request.method == .head else {
      return ErrorStyle.problem.response(.methodNotAllowed("GET, HEAD"), requestID: "")
    }
    if request.path == "/health" { return .json(["status": "ok"]) }
    return HTTPResponse(
      status: 200, fields: ["content-type": "text/plain; version=0.0.4; charset=utf-8"],
      body: HTTPBody(metrics.text))
  }
}
