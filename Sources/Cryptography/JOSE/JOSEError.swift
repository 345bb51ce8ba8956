/// Why a token, or a key of JOSE, is refused. Carries nothing of the input.
package enum JOSEError: Error, Equatable, Sendable {
  /// Longer than what is read at all.
  case tooLarge
  /// Not three parts of base64url without padding (RFC 7515 §7.1).
  case serialization
  /// The header is no JSON object, has two members of a name, or lacks a usable `alg`.
  case header
  /// The header demands an extension (`crit`, RFC 7515 §4.1.11); none is known here.
  case critical
  /// The payload is no JSON object, or has two members of a name.
  case payload
  /// `alg` is not the verifier's one algorithm.
  case algorithm
  /// No `kid`, or one that names none of the keys.
  case unknownKey
  /// The signature does not hold.
  case signature
  /// The members are no public key of a kind known here, or one too weak to use.
  case key
}

extension JOSEError: CustomStringConvertible {
  /// One line for a log or a person.
  package var description: String {
    switch self {
    case .tooLarge: "longer than what is read at all"
    case .serialization: "not three parts of base64url without padding"
    case .header: "the header is no JSON object with an alg, or names a member twice"
    case .critical: "the header demands an extension (crit)"
    case .payload: "the payload is no JSON object, or names a member twice"
    case .algorithm: "signed with another algorithm than the one that is taken"
    case .unknownKey: "its kid names none of the keys"
    case .signature: "the signature does not hold"
    case .key: "no public key of a kind that is taken, or too weak"
    }
  }
}
