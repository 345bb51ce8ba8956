package import Encodings

/// JSON Web Signature (RFC 7515) in the compact serialization, apart from any algorithm.
package enum JWS {
  /// What is read of a token unless the caller says otherwise, octets. Apple's have 1 KB.
  package static let maximumLength = 16_384
  /// The longest header, octets of its JSON.
  package static let maximumHeaderLength = 2_048
  /// The longest `kid`, octets.
  package static let maximumKeyIDLength = 256

  /// The members of a header that a verifier looks at. Whatever else stands there (`jku`, `jwk`, `x5u`, …) is
  /// never read: a token does not say by which key it is to be judged.
  package struct Header: Sendable, Equatable {
    /// `alg`: compared with the verifier's one algorithm, and never used to choose one.
    package let algorithm: String
    /// `kid`: selects among the verifier's keys.
    package let kid: String?
    /// `typ`.
    package let type: String?
  }

  /// A token taken apart. Nothing of it is to be believed before a verifier has taken it.
  package struct Compact: Sendable {
    package let header: Header
    /// The payload's octets.
    package let payload: [UInt8]
    /// What the signature is over: the first two parts as they were spelled (RFC 7515 §5.2).
    package let signingInput: [UInt8]
    package let signature: [UInt8]

    /// Takes `text` apart: exactly three parts in the one spelling of base64url, a strict JSON header without
    /// `crit`.
    package init(parsing text: String, maximumLength: Int = JWS.maximumLength) throws(JOSEError) {
      guard text.utf8.count <= maximumLength else { throw .tooLarge }
      let octets = Array(text.utf8)
      let parts = octets.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 3, let header = Base64.decodeURL(parts[0]),
        let payload = Base64.decodeURL(parts[1]), let signature = Base64.decodeURL(parts[2])
      else { throw .serialization }
      self.header = try Header(header)
      self.payload = payload
      signingInput = Array(octets[..<parts[1].endIndex])
      self.signature = signature
    }

    /// The payload as a JSON object, names unique.
    package var claims: JSONNode {
      get throws(JOSEError) { try claims(maximumDepth: 16) }
    }

    /// The same of a token that may carry what somebody nested deeper.
    package func claims(maximumDepth: Int) throws(JOSEError) -> JSONNode {
      guard let node = try? JSONReader.read(payload, maximumDepth: maximumDepth), node.members != nil else {
        throw .payload
      }
      return node
    }
  }

  /// The compact serialization of a header and a payload that `sign` signs.
  package static func compact<Failure: Error>(
    header: JSONValue, payload: [UInt8], sign: ([UInt8]) throws(Failure) -> [UInt8]
  ) throws(Failure) -> String {
    let input = Base64.encodeURL(header.bytes) + "." + Base64.encodeURL(payload)
    return input + "." + Base64.encodeURL(try sign(Array(input.utf8)))
  }
}

extension JWS.Header {
  /// The header that `octets` spell.
  init(_ octets: [UInt8]) throws(JOSEError) {
    guard octets.count <= JWS.maximumHeaderLength else { throw .tooLarge }
    guard let node = try? JSONReader.read(octets, maximumDepth: 8), node.members != nil,
      let algorithm = node["alg"]?.string
    else { throw .header }
    if node["crit"] != nil { throw .critical }
    if let kid = node["kid"] {
      guard let text = kid.string, text.utf8.count <= JWS.maximumKeyIDLength else { throw .header }
    }
    if let type = node["typ"], type.string == nil { throw .header }
    self.algorithm = algorithm
    kid = node["kid"]?.string
    type = node["typ"]?.string
  }
}
