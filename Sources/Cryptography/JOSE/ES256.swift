package import Encodings

/// ECDSA over P-256 with SHA-256 as JOSE has it (RFC 7518 §3.4): signatures are r and s, 32 octets each, not DER.
package enum ES256 {
  /// The `alg` of the header.
  package static let algorithm = "ES256"
  /// Octets of a signature.
  package static let signatureLength = 64

  /// A signed token whose header holds `alg`, `kid` and `typ`, where they are given, and nothing else.
  package static func sign(
    _ payload: JSONValue, kid: String?, type: String? = "JWT", key: P256.PrivateKey
  ) throws(CryptographyError) -> String {
    var header: [(String, JSONValue)] = [("alg", .string(algorithm))]
    if let kid { header.append(("kid", .string(kid))) }
    if let type { header.append(("typ", .string(type))) }
    return try JWS.compact(header: .object(header), payload: payload.bytes) {
      (input) throws(CryptographyError) in try signature(for: input, key: key)
    }
  }

  /// r and s over `message`.
  package static func signature(
    for message: [UInt8], key: P256.PrivateKey
  ) throws(CryptographyError) -> [UInt8] {
    guard let raw = raw(der: try key.signature(for: message)) else { throw .libraryFailure }
    return raw
  }

  /// Throws unless the token says ES256 and its signature is this key's.
  package static func verify(_ token: JWS.Compact, key: P256.PublicKey) throws(JOSEError) {
    guard token.header.algorithm == algorithm else { throw .algorithm }
    guard isValid(token.signature, for: token.signingInput, key: key) else { throw .signature }
  }

  /// Throws unless the token says ES256 and its signature is that of the key that its `kid` names.
  package static func verify(
    _ token: JWS.Compact, keys: [String: P256.PublicKey]
  ) throws(JOSEError) {
    guard token.header.algorithm == algorithm else { throw .algorithm }
    guard let kid = token.header.kid, let key = keys[kid] else { throw .unknownKey }
    guard isValid(token.signature, for: token.signingInput, key: key) else { throw .signature }
  }

  /// Whether `signature` is r and s of this key over `message`.
  package static func isValid(_ signature: [UInt8], for message: [UInt8], key: P256.PublicKey) -> Bool {
    guard let der = der(raw: signature) else { return false }
    return key.isValid(signature: der, for: message)
  }

  /// The DER form (RFC 3279 §2.2.3) of r and s; nil for another length than 64.
  static func der(raw: [UInt8]) -> [UInt8]? {
    guard raw.count == signatureLength else { return nil }
    return DERWriter.sequence(
      DERWriter.integer(unsigned: Array(raw[..<32])), DERWriter.integer(unsigned: Array(raw[32...])))
  }

  /// r and s of a DER signature, 32 octets each; nil for what is none of P-256.
  static func raw(der: [UInt8]) -> [UInt8]? {
    guard let sequence = try? DERReader.single(der[...]), sequence.tag == .sequence,
      var reader = try? sequence.reader
    else { return nil }
    var raw: [UInt8] = []
    for _ in 0..<2 {
      guard let integer = try? reader.next(.integer) else { return nil }
      let number = integer.content.drop { $0 == 0 }
      guard number.count <= 32 else { return nil }
      raw += [UInt8](repeating: 0, count: 32 - number.count) + number
    }
    return reader.isAtEnd ? raw : nil
  }
}
