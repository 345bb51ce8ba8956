import BramleyAPI
import Encodings
import HTTPMessages
import UserData

/// Finds the route of a request. Paths are compared as they were sent: a path in another spelling is another
/// path, so that no proxy in front and no rule here can disagree about which one it is.
struct Router: Sendable {
  private let endpoints: [String: [any Endpoint]]
  private let templates: [PathTemplate]
  private let crossOrigin: CrossOrigin

  init(_ endpoints: [any Endpoint], crossOrigin: CrossOrigin) {
    self.endpoints = Dictionary(grouping: endpoints, by: \.path)
    templates = self.endpoints.keys.sorted().compactMap { PathTemplate($0) }
    self.crossOrigin = crossOrigin
  }

  /// Answers; what goes wrong is an answer as well.
  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    var style = ErrorStyle.of(path: request.path)
    var response: HTTPResponse
    do {
      guard let candidates = candidates(request.path, &exchange), let first = candidates.first else {
        throw Failure.notFound
      }
      exchange.route = first.path
      style = first.errors
      response = try await answer(request, candidates, &exchange)
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
      response = style.response(
        failure, requestID: exchange.requestID, version: SupabaseVersion(request))
    }
    style.finish(&response, for: request)
    return response
  }

  /// The routes of the path: those of this very path, else those whose template it fits.
  private func candidates(_ path: Substring, _ exchange: inout Exchange) -> [any Endpoint]? {
    if !path.utf8.contains(UInt8(ascii: "{")), let exact = endpoints[String(path)] { return exact }
    for template in templates {
      guard let parameter = template.parameter(of: path) else { continue }
      exchange.parameter = parameter
      return endpoints[template.text]
    }
    // Whatever a proxy has made of a probe.
    return path.contains(AttestTargets.probe) ? endpoints[AttestTargets.probe] : nil
  }

  private func answer(
    _ request: HTTPRequest, _ candidates: [any Endpoint], _ exchange: inout Exchange
  ) async throws -> HTTPResponse {
    let method = request.method == .head ? .get : request.method
    guard let endpoint = candidates.first(where: { $0.method == method }) else {
      let allow = Self.allow(candidates)
      guard request.method == .options else { throw Failure.methodNotAllowed(allow) }
      var response = HTTPResponse(status: 204, fields: ["allow": allow])
      crossOrigin.applyPreflight(to: &response, for: request, methods: allow)
      return response
    }
    return try await endpoint.respond(to: request, &exchange)
  }

  private static func allow(_ candidates: [any Endpoint]) -> String {
    var methods = candidates.map(\.method.rawValue)
    if methods.contains("GET") { methods.append("HEAD") }
    return (methods + ["OPTIONS"]).joined(separator: ", ")
  }
}

/// A path with one segment that is a parameter, such as `/users/{id}`, or with a rest of several, such as
/// `/files/{+path}` (RFC 6570).
struct PathTemplate: Sendable {
  let text: String
  private let before: [UInt8]
  private let after: [UInt8]
  /// Whether the parameter has segments.
  private let isRest: Bool

  /// nil for a path without a parameter.
  init?(_ text: String) {
    let octets = Array(text.utf8)
    guard let start = octets.firstIndex(of: UInt8(ascii: "{")),
      let end = octets.firstIndex(of: UInt8(ascii: "}")), start < end
    else { return nil }
    self.text = text
    before = Array(octets[..<start])
    after = Array(octets[(end + 1)...])
    isRest = octets[(start + 1)...].first == UInt8(ascii: "+")
  }

  /// The parameter in a path of this template: 1 to 64 letters, digits, `-` and `_`, in the case they were
  /// sent, or an ``ObjectPath``; nil for any other path.
  func parameter(of path: Substring) -> String? {
    let octets = Array(path.utf8)
    guard octets.count > before.count + after.count, octets.starts(with: before),
      octets.suffix(after.count).elementsEqual(after)
    else { return nil }
    let middle = octets[before.count..<(octets.count - after.count)]
    if isRest { return ObjectPath(String(decoding: middle, as: UTF8.self))?.description }
    let fits = middle.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return fits && middle.count <= 64 ? String(decoding: middle, as: UTF8.self) : nil
  }
}
