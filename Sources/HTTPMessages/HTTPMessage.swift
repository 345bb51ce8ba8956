/// A request. On the server it is what the peer sent; for a client it says where to send it.
public struct HTTPRequest: Sendable {
  /// The method.
  public var method: HTTPMethod
  /// `http` or `https`; the server says `http`, since TLS ends before it.
  public var scheme: String
  /// Host and port: where a client connects, and what a server read in `Host`. Never proof of anything.
  public var authority: String
  /// The request target in origin form (RFC 9112 §3.2.1): path and query, octets as sent.
  public var target: String
  /// The header fields.
  public var fields: HTTPFields
  /// The content.
  public var body: HTTPBody
  /// The address of the socket's peer, without port; nil where there is no socket.
  public var peer: String?

  /// A request.
  public init(
    method: HTTPMethod, scheme: String = "http", authority: String = "", target: String,
    fields: HTTPFields = HTTPFields(), body: HTTPBody = .empty, peer: String? = nil
  ) {
    self.method = method
    self.scheme = scheme
    self.authority = authority
    self.target = target
    self.fields = fields
    self.body = body
    self.peer = peer
  }

  /// The target up to its query. By octets: a mark that combines with the `?` must not hide it.
  public var path: Substring { target[..<(queryMark ?? target.endIndex)] }
  /// What follows the first `?` of the target; nil without one.
  public var query: Substring? {
    queryMark.map { target[target.utf8.index(after: $0)...] }
  }

  private var queryMark: String.Index? { target.utf8.firstIndex(of: UInt8(ascii: "?")) }
}

/// A response.
public struct HTTPResponse: Sendable {
  /// The status code, 100 to 599.
  public var status: Int
  /// The header fields, without framing: the server sets Content-Length, Transfer-Encoding, Connection and
  /// Date itself.
  public var fields: HTTPFields
  /// The content.
  public var body: HTTPBody

  /// A response.
  public init(status: Int, fields: HTTPFields = HTTPFields(), body: HTTPBody = .empty) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

/// Whatever answers requests: Bramley's server, the client that asks another server, a simulated Apple.
public protocol HTTPHandler: Sendable {
  /// Answers one request. Cancelling the task means that the asker left: the work stops.
  func respond(to request: HTTPRequest) async throws -> HTTPResponse
}
