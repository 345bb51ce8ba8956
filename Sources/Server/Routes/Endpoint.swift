import HTTPMessages

/// One route: a method and a path.
protocol Endpoint: Sendable {
  var method: HTTPMethod { get }
  /// The path, compared by octets; also the template that log and metrics name. One segment may be a name in
  /// braces (RFC 6570), and the last ones may be one with a plus: it stands for any identifier, or for any path of an
  /// object, which the exchange then has as its `parameter`.
  var path: String { get }
  /// How errors are written.
  var errors: ErrorStyle { get }
  /// Answers, or throws a ``Failure``.
  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse
}

extension Endpoint {
  var errors: ErrorStyle { ErrorStyle.of(path: path[...]) }
}
