/// A stable name for what went wrong, in the `code` member of every error that Bramley answers.
///
/// Open: a client must expect codes it does not know, and go by the status then.
public struct ErrorCode: Sendable, Hashable, RawRepresentable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The name as it is sent.
  public let rawValue: String
  /// A code of that name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// A code of that name.
  public init(stringLiteral value: String) { rawValue = value }
  /// The name.
  public var description: String { rawValue }
}
