package import Encodings

/// RSASSA-PKCS1-v1_5 with SHA-256 as JOSE has it (RFC 7518 §3.3), for keys of 2,048 bits and more.
package enum RS256 {
  /// The `alg` of the header.
  package static let algorithm = "RS256"

  /// A signed token with exactly the header of Apple's tokens: `kid` and `alg`.
  package static func sign(
    _ payload: JSONValue, kid: String, key: RSA.PrivateKey
  ) throws(CryptographyError) -> String {
    try JWS.compact(
      header: ["kid": .string(kid), "alg": .string(algorithm)], payload: payload.bytes
    ) { (input) throws(CryptographyError) in try key.signature(for: input) }
  }

  /// Throws unless the token says RS256 and its signature is this key's.
  package static func verify(_ token: JWS.Compact, key: RSA.PublicKey) throws(JOSEError) {
    guard token.header.algorithm == algorithm else { throw .algorithm }
    guard key.isValid(signature: token.signature, for: token.signingInput) else { throw .signature }
  }

  /// Throws unless the token says RS256 and its signature is that of the key that its `kid` names.
  package static func verify(
    _ token: JWS.Compact, keys: [String: RSA.PublicKey]
  ) throws(JOSEError) {
    guard token.header.algorithm == algorithm else { throw .algorithm }
    guard let kid = token.header.kid, let key = keys[kid] else { throw .unknownKey }
    guard key.isValid(signature: token.signature, for: token.signingInput) else { throw .signature }
  }
}
