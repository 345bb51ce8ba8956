package import HTTPMessages

/// The request line and the header fields, checked.
package struct HTTPRequestHead: Equatable, Sendable {
  /// How the content is delimited (RFC 9112 §6.3).
  package enum Framing: Equatable, Sendable {
    /// There is none.
    case none
    /// Exactly so many octets.
    case length(Int)
    /// Chunked.
    case chunked
  }

  /// The method.
  package var method: HTTPMethod = .get
  /// The target in origin form, or `*`; octets as sent.
  package var target = ""
  /// The value of Host; empty only where an HTTP/1.0 request has none.
  package var authority = ""
  /// The header fields in order.
  package var fields = HTTPFields()
  /// Whether it is HTTP/1.0.
  package var isOldVersion = false
  /// How the content is delimited.
  package var framing = Framing.none
  /// Whether the peer expects another request to be answered on this connection.
  package var keepsAlive = true
  /// Whether the peer waits for `100 Continue` before it sends the content.
  package var expectsContinue = false

  /// An empty head.
  package init() {}
}
