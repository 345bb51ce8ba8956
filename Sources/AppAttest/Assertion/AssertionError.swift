/// Why an assertion is refused.
package enum AssertionError: Error, Equatable, Sendable {
  /// More than 4 KiB.
  case tooLarge
  /// No CBOR.
  case encoding(CBORError)
  /// A member is missing or of another type.
  case structure
  /// The authenticator data cannot be read.
  case authenticatorData(AuthenticatorDataError)
  /// The signature is not the key's over this authenticator data and client data.
  case badSignature
  /// Made for another app.
  case appMismatch
  /// The build's category or version is not taken.
  case extensionPolicy
}

extension AssertionError: CustomStringConvertible {
  /// One line for a log or a person.
  package var description: String {
    switch self {
    case .tooLarge: "more than \(Assertion.maximumLength) octets"
    case .encoding(let error): "no strict CBOR: \(error)"
    case .structure: "a member is missing or of another type"
    case .authenticatorData(let error): "the authenticator data cannot be read: \(error)"
    case .badSignature: "the signature is not the key's over this authenticator data and client data hash"
    case .appMismatch: "made for another app"
    case .extensionPolicy: "the build's validation category or version is not accepted"
    }
  }
}
