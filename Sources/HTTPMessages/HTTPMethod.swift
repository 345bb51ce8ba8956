/// A request method (RFC 9110 §9): an open set, compared by octets.
public struct HTTPMethod: Sendable, Hashable, RawRepresentable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The token as it is sent.
  public let rawValue: String

  /// A method of that name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// A method of that name.
  public init(stringLiteral value: String) { rawValue = value }
  /// The token.
  public var description: String { rawValue }

  /// RFC 9110 §9.3.1.
  public static let get: HTTPMethod = "GET"
  /// RFC 9110 §9.3.2.
  public static let head: HTTPMethod = "HEAD"
  /// RFC 9110 §9.3.3.
  public static let post: HTTPMethod = "POST"
  /// RFC 9110 §9.3.4.
  public static let put: HTTPMethod = "PUT"
  /// RFC 9110 §9.3.5.
  public static let delete: HTTPMethod = "DELETE"
  /// RFC 9110 §9.3.7.
  public static let options: HTTPMethod = "OPTIONS"
  /// RFC 5789.
  public static let patch: HTTPMethod = "PATCH"
}
