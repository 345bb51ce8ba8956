/// Why a request that was sent on to another server got no whole answer.
///
/// What counts most is ``requestWritten``: a request that never left can be sent again and costs nothing; one
/// that may have arrived may have been acted on, whatever became of the answer.
public enum HTTPClientError: Error, Equatable, Sendable {
  /// What makes a request unfit to be sent.
  public enum Flaw: Equatable, Sendable {
    /// Not a token, or a method that is for proxies.
    case method
    /// Neither `http` nor `https`.
    case scheme
    /// Not a host with an optional port.
    case authority
    /// Not in origin form, or with characters that no target has.
    case target
    /// A field of that name whose name or value cannot be on a line.
    case field(String)
  }

  /// What was waited for too long.
  public enum Phase: Equatable, Sendable {
    /// The address, the connection and TLS.
    case connect
    /// The head of the response, after the last octet of the request.
    case head
    /// The next octets of the response.
    case idle
    /// The end of it all.
    case total
  }

  /// The request is unfit; nothing was tried.
  case invalidRequest(Flaw)
  /// No connection: no such name, nobody listens, no route. Safe to try again.
  case connect
  /// Every address of the host is one that this client may not connect to.
  case addressForbidden
  /// TLS could not be agreed on, or the certificate is not trusted.
  case tls
  /// The time for that phase passed.
  case timedOut(Phase)
  /// The connection broke after the request began.
  case interrupted
  /// What came back is not HTTP/1.1, or its head is too large.
  case invalidResponse
  /// The source of the request's own body failed or gave another length than announced.
  case requestBody
  /// The task that asked was cancelled before the response's head came.
  case cancelled(requestWritten: Bool)
  /// The client was stopped.
  case stopped(requestWritten: Bool)

  /// Whether any octet of the request may have reached the other server. False is certain, true is not.
  public var requestWritten: Bool {
    switch self {
    case .invalidRequest, .connect, .addressForbidden, .tls, .timedOut(.connect): false
    case .timedOut, .interrupted, .invalidResponse, .requestBody: true
    case .cancelled(let written), .stopped(let written): written
    }
  }
}
