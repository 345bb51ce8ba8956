import Cryptography
import Encodings

/// The fields of a receipt's content.
package struct Receipt: Sendable, Equatable {
  /// Where a receipt comes from (field 6).
  package enum Kind: String, Sendable {
    /// Inside an attestation.
    case attest = "ATTEST"
    /// From Apple's receipt endpoint.
    case receipt = "RECEIPT"
  }

  /// Field 2.
  package let appID: String
  /// Field 3: the X9.63 point of the attested key, out of the leaf certificate that stands there.
  package let publicKey: [UInt8]
  /// Field 4: the client data hash; in receipts from the endpoint it is mangled and says nothing.
  package let clientDataHash: [UInt8]?
  /// Field 6.
  package let kind: Kind
  /// Field 7, `sandbox` or `production`; nil where it is missing.
  package let environment: AttestEnvironment?
  /// Field 12, seconds since 1970.
  package let creation: Int64
  /// Field 17: about how many keys were attested on the device in 30 days; only in receipts from the endpoint.
  package let riskMetric: Int?
  /// Field 19: not to be exchanged before, seconds since 1970.
  package let notBefore: Int64?
  /// Field 21, seconds since 1970.
  package let expiration: Int64?

  /// Reads `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`; types that are not known
  /// are left alone, one that stands twice is refused.
  package init(content: [UInt8]) throws(ReceiptError) {
    let fields = try Self.fields(content)
    guard let appID = fields[2].flatMap({ String(validating: $0, as: UTF8.self) }),
      let certificate = fields[3].flatMap({ try? Certificate(der: Array($0)) }),
      let publicKey = certificate.publicKeyPoint, publicKey.count == 65,
      let kind = fields[6].flatMap({ Kind(rawValue: String(decoding: $0, as: UTF8.self)) }),
      let creation = fields[12].flatMap({ Self.time($0) })
    else { throw .content }
    self.appID = appID
    self.publicKey = publicKey
    self.kind = kind
    self.creation = creation
    clientDataHash = fields[4].map { Array($0) }
    environment = try Self.environment(fields[7])
    riskMetric = try Self.optional(fields[17]) { digits in
      Int(String(decoding: digits, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
    }
    notBefore = try Self.optional(fields[19]) { Self.time($0) }
    expiration = try Self.optional(fields[21]) { Self.time($0) }
  }

  /// ISO 8601 in UTC with as many digits of a second as are not zero (`…:34Z`, `…:34.7Z`, `…:34.76Z`).
  private static func time(_ field: ArraySlice<UInt8>) -> Int64? {
    RFC3339.seconds(String(decoding: field, as: UTF8.self))
  }

  private static func fields(_ content: [UInt8]) throws(ReceiptError) -> [Int64: ArraySlice<UInt8>] {
    do {
      let set = try DERReader.single(content[...])
      guard set.tag == .set else { throw ReceiptError.content }
      var reader = try set.reader
      var fields: [Int64: ArraySlice<UInt8>] = [:]
      while !reader.isAtEnd {
        var field = try reader.next(.sequence).reader
        let type = try field.next().integer
        _ = try field.next().integer
        let value = try field.next().octets
        guard field.isAtEnd, fields.updateValue(value, forKey: type) == nil else {
          throw ReceiptError.content
        }
      }
      return fields
    } catch {
      throw .content
    }
  }

  /// The value of a field that may be missing, but not be nonsense.
  private static func optional<Value>(
    _ field: ArraySlice<UInt8>?, _ read: (ArraySlice<UInt8>) -> Value?
  ) throws(ReceiptError) -> Value? {
    guard let field else { return nil }
    guard let value = read(field) else { throw .content }
    return value
  }

  private static func environment(_ field: ArraySlice<UInt8>?) throws(ReceiptError) -> AttestEnvironment? {
    try optional(field) { name in
      switch String(decoding: name, as: UTF8.self) {
      case "sandbox": .development
      case "production": .production
      default: nil
      }
    }
  }
}
