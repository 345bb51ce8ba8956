import BramleyAPI
import Encodings
import HTTPMessages

/// The operator's listener: `/metrics` and `/health` for machines that watch, and what a key opens below
/// `/admin/v1`. It has no CORS and is bound to loopback by default (RULES §6.1).
struct AdminHandler: HTTPHandler {
  let metrics: Metrics
  /// The routes of `/admin/v1`, with log and metrics.
  let routes: Pipeline

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    if request.path.hasPrefix(AdminTargets.prefix + "/") { return try await routes.respond(to: request) }
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
