import BramleyAPI
import Encodings
import Gateway

extension CallContext {
  /// What an app is told of a provider's error. A function's prompt stays here, and the provider's own words could quote
  /// it: they go to the operator's log alone, and the app gets the name that the provider has for the error.
  func failure(_ error: ProviderError, _ style: ErrorStyle) -> Failure {
    guard style == .function, error.code == ErrorCode.upstreamRefused.rawValue else { return Failure(error) }
    log.info(
      "provider_refused",
      [
        ("request_id", .string(requestID)), ("function", .string(function ?? "")),
        ("provider", .string(provider)), ("model", .string(model)), ("status", .integer(error.status)),
        ("upstream_type", .string(error.type)), ("message", .string(error.message)),
      ])
    var told = error
    told.message = "The AI provider does not take what this function sends."
    var failure = Failure(told)
    if Self.isName(error.type) {
      failure.members.append(Failure.Member("provider_type", .string(error.type)))
    }
    return failure
  }

  /// A name such as `invalid_request_error` or `value_error.missing`: words of a prompt are none.
  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
          || $0 == UInt8(ascii: ".")
      }
  }
}
