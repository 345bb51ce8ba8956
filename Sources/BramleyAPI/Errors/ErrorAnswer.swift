import Encodings

/// What an error's body says, in whichever envelope it came: problem+json (RFC 9457) with `code` and `message`
/// on Bramley's own routes, either form of Supabase Auth on those of accounts, and on provider routes Anthropic's
/// envelope with `error.details.error_code` or OpenAI's with `error.code`.
public struct ErrorAnswer: Sendable, Equatable {
  /// The stable name; nil when the body names none, as a proxy's page does.
  public var code: ErrorCode?
  /// For a developer; nil when the body has none.
  public var message: String?

  /// An answer.
  public init(code: ErrorCode?, message: String?) {
    self.code = code
    self.message = message
  }

  /// Reads a body; one that is not JSON says nothing.
  public init(body: [UInt8]) {
    let node = try? JSONReader.read(body)
    let error = node?["error"]
    let code =
      node?["code"]?.string ?? node?["error_code"]?.string ?? error?["details"]?["error_code"]?.string
      ?? error?["code"]?.string
    self.code = code.map(ErrorCode.init(rawValue:))
    message =
      node?["message"]?.string ?? node?["msg"]?.string ?? error?["message"]?.string ?? node?["detail"]?.string
  }
}
