import BramleyAPI
import Encodings
import HTTPMessages

/// Finds the route of a request. Paths are compared as they were sent: a path in another spelling is another
/// path, so that no proxy in front and no rule here can disagree about which one it is.
struct Router: Sendable {
  private let endpoints: [String: [any Endpoint]]
  private let crossOrigin: CrossOrigin

  init(_ endpoints: [any Endpoint], crossOrigin: CrossOrigin) {
    self.endpoints = Dictionary(grouping: endpoints, by: \.path)
    self.crossOrigin = crossOrigin
  }

  var templates: [String] { endpoints.keys.sorted() }

  /// Answers; what goes wrong is an answer as well.
  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    var style = ErrorStyle.of(path: request.path)
    do {
      guard let candidates = endpoints[String(request.path)], let first = candidates.first else {
        throw Failure.notFound
      }
      exchange.route = first.path
      style = first.errors
      let method = request.method == .head ? .get : request.method
      guard let endpoint = candidates.first(where: { $0.method == method }) else {
        let allow = Self.allow(candidates)
        guard request.method == .options else { throw Failure.methodNotAllowed(allow) }
        var response = HTTPResponse(status: 204, fields: ["allow": allow])
        crossOrigin.applyPreflight(to: &response, for: request, methods: allow)
        return response
      }
      return try await endpoint.respond(to: request, &exchange)
    } catch let error as CancellationError {
      throw error
    } catch {
      let failure =
        switch error {
        case let failure as Failure: failure
        case let error as HTTPBodyError: Failure.of(error)
        default:
          Failure(500, .internalError, "The server made a mistake.", diagnosis: "\(type(of: error))")
        }
      exchange.code = failure.code
      if let diagnosis = failure.diagnosis { exchange.notes.append(("diagnosis", .string(diagnosis))) }
      return style.response(failure, requestID: exchange.requestID)
    }
  }

  private static func allow(_ candidates: [any Endpoint]) -> String {
    var methods = candidates.map(\.method.rawValue)
    if methods.contains("GET") { methods.append("HEAD") }
    return (methods + ["OPTIONS"]).joined(separator: ", ")
  }
}
