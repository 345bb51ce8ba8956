package import Encodings

/// A public key as JSON (RFC 7517) for the two algorithms that are used here, parsed when it is read.
package struct JWK: Sendable, Equatable {
  /// The key and with it the one algorithm it is for.
  package enum Key: Sendable, Equatable {
    /// `EC` on `P-256`, for ES256.
    case p256(P256.PublicKey)
    /// `RSA`, for RS256.
    case rsa(RSA.PublicKey)
  }

  package let key: Key
  /// `kid`.
  package let kid: String?

  /// A key under that name; without one, its thumbprint.
  package init(_ key: Key, kid: String? = nil) {
    self.key = key
    self.kid = kid ?? Self.thumbprint(of: key)
  }

  /// The key that `json` describes. Throws `key` for another kind, for one whose `use`, `key_ops` or `alg` say
  /// that it does not verify signatures of its algorithm, and for one too weak.
  package init(_ json: JSONNode) throws(JOSEError) {
    if let use = json["use"], use.string != "sig" { throw .key }
    if let operations = json["key_ops"] {
      guard operations.elements?.contains(where: { $0.string == "verify" }) == true else { throw .key }
    }
    let algorithm: String
    switch json["kty"]?.string {
    case "EC":
      guard json["crv"]?.string == "P-256", let x = Self.octets(json["x"]), let y = Self.octets(json["y"]),
        x.count == 32, y.count == 32, let point = try? P256.PublicKey(point: [4] + x + y)
      else { throw .key }
      key = .p256(point)
      algorithm = ES256.algorithm
    case "RSA":
      guard let modulus = Self.octets(json["n"]), let exponent = Self.octets(json["e"]),
        let numbers = try? RSA.PublicKey(modulus: modulus, exponent: exponent)
      else { throw .key }
      key = .rsa(numbers)
      algorithm = RS256.algorithm
    default: throw .key
    }
    if let named = json["alg"], named.string != algorithm { throw .key }
    if let kid = json["kid"] {
      guard let text = kid.string, !text.isEmpty, text.utf8.count <= JWS.maximumKeyIDLength else {
        throw .key
      }
    }
    kid = json["kid"]?.string
  }

  /// The key with its name, use and algorithm.
  package var json: JSONValue {
    var members = Self.required(key)
    let algorithm =
      switch key {
      case .p256: ES256.algorithm
      case .rsa: RS256.algorithm
      }
    if let kid { members.append(("kid", .string(kid))) }
    return .object(
      members + [("use", "sig"), ("alg", .string(algorithm)), ("key_ops", ["verify"])])
  }

  /// The SHA-256 thumbprint of a key (RFC 7638), base64url: a name that only this key has.
  package static func thumbprint(of key: Key) -> String {
    Base64.encodeURL(SHA256.hash(JSONValue.object(required(key)).bytes))
  }

  /// The members that make up the key, in the order of their names, as RFC 7638 §3.2 hashes them.
  private static func required(_ key: Key) -> [(String, JSONValue)] {
    switch key {
    case .p256(let key):
      [
        ("crv", "P-256"), ("kty", "EC"), ("x", text(key.point[1..<33])), ("y", text(key.point[33...])),
      ]
    case .rsa(let key): [("e", text(key.exponent[...])), ("kty", "RSA"), ("n", text(key.modulus[...]))]
    }
  }

  private static func text(_ octets: ArraySlice<UInt8>) -> JSONValue { .string(Base64.encodeURL(octets)) }

  private static func octets(_ node: JSONNode?) -> [UInt8]? {
    node?.string.flatMap { Base64.decodeURL($0.utf8) }
  }
}

/// A set of keys (RFC 7517 §5).
package struct JWKSet: Sendable, Equatable {
  /// The most keys that one may have: what parsing them costs must have a bound.
  package static let maximumCount = 64

  package let keys: [JWK]

  package init(_ keys: [JWK]) { self.keys = keys }

  /// The set that `octets` spell. Keys of kinds that are not known here, or too weak, are left out, as RFC 7517
  /// §5 has it; throws `key` for what is no set, has more than 64 keys, or two usable ones of one name.
  package init(parsing octets: [UInt8]) throws(JOSEError) {
    guard octets.count <= 1 << 18 else { throw .tooLarge }
    guard let node = try? JSONReader.read(octets, maximumDepth: 8), let elements = node["keys"]?.elements,
      elements.count <= Self.maximumCount
    else { throw .key }
    keys = elements.compactMap { try? JWK($0) }
    let names = keys.compactMap(\.kid)
    guard Set(names).count == names.count else { throw .key }
  }

  /// `{"keys": […]}`.
  package var json: JSONValue { ["keys": .array(keys.map(\.json))] }

  /// The P-256 keys by their names.
  package var p256: [String: P256.PublicKey] {
    var found: [String: P256.PublicKey] = [:]
    for jwk in keys { if case .p256(let key) = jwk.key, let kid = jwk.kid { found[kid] = key } }
    return found
  }

  /// The RSA keys by their names.
  package var rsa: [String: RSA.PublicKey] {
    var found: [String: RSA.PublicKey] = [:]
    for jwk in keys { if case .rsa(let key) = jwk.key, let kid = jwk.kid { found[kid] = key } }
    return found
  }
}
