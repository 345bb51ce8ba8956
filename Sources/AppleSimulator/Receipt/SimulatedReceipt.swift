import Cryptography
import Encodings

/// A receipt as Apple makes it: a SET of numbered fields, unsorted, inside a CMS container in BER.
struct SimulatedReceipt {
  /// Field 6.
  enum Kind: String {
    /// Inside an attestation.
    case attest = "ATTEST"
    /// From the endpoint, with a risk metric.
    case receipt = "RECEIPT"
  }

  var appID: String
  /// The whole certificate of the attested key.
  var certificate: [UInt8]
  var clientDataHash: [UInt8]
  var token: String
  var isProduction: Bool
  /// Seconds since 1970.
  var createdAt: Int64
  var risk: Int

  private static let day: Int64 = 86_400

  /// An opaque text, as field 5 is; here it carries the device and its number of attested keys to the service.
  static func token(device: [UInt8], risk: Int) -> String {
    let count = UInt16(clamping: risk)
    return Base64.encode(
      device + SecureRandom.bytes(30) + [UInt8(count >> 8), UInt8(truncatingIfNeeded: count)])
  }

  static func device(ofToken token: String) -> [UInt8] {
    Array((Base64.decode(token) ?? []).prefix(16))
  }

  static func risk(ofToken token: String) -> Int {
    (Base64.decode(token) ?? []).suffix(2).reduce(0) { $0 << 8 | Int($1) }
  }

  /// The content that is signed.
  func payload(type: Kind) -> [UInt8] {
    var fields = [
      Self.field(2, Array(appID.utf8)), Self.field(3, certificate),
      Self.field(4, type == .attest ? clientDataHash : Self.mangled(clientDataHash)),
      Self.field(5, Array(token.utf8)), Self.field(6, Array(type.rawValue.utf8)),
      Self.field(7, Array((isProduction ? "production" : "sandbox").utf8)),
      Self.field(12, Self.time(createdAt)),
    ]
    if type == .receipt {
      fields.append(Self.field(17, Array(String(risk).utf8)))
      fields.append(Self.field(19, Self.time(createdAt + Self.day)))
    }
    fields.append(Self.field(21, Self.time(createdAt + 90 * Self.day)))
    return DERWriter.value(0x31, Array(fields.joined()))
  }

  /// CMS SignedData (RFC 5652 §5) without signed attributes: indefinite lengths, the content in pieces of
  /// 1000 octets, certificates in the order of the chain.
  func container(_ authority: SimulatedAppleCA, type: Kind) throws(SimulatorError) -> [UInt8] {
    let payload = payload(type: type)
    let pieces = stride(from: 0, to: payload.count, by: 1_000).flatMap {
      DERWriter.octetString(Array(payload[$0..<min($0 + 1_000, payload.count)]))
    }
    let digest = DERWriter.sequence(ObjectIdentifiers.sha256, DERWriter.null)
    let signer = DERWriter.sequence(
      DERWriter.integer(1),
      DERWriter.sequence(authority.receiptIssuerName.der, authority.receiptSerial), digest,
      DERWriter.sequence(ObjectIdentifiers.ecdsaWithSHA256),
      DERWriter.octetString(try authority.signReceipt(payload)))
    let content = Self.indefinite(
      0x30, ObjectIdentifiers.data, Self.indefinite(0xA0, Self.indefinite(0x24, pieces)))
    return Self.indefinite(
      0x30, ObjectIdentifiers.signedData,
      Self.indefinite(
        0xA0,
        Self.indefinite(
          0x30, DERWriter.integer(1), DERWriter.set(digest), content,
          Self.indefinite(0xA0, Array(authority.receiptChain.joined())), DERWriter.set(signer))))
  }

  private static func field(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
    DERWriter.sequence(DERWriter.integer(type), DERWriter.integer(1), DERWriter.octetString(value))
  }

  /// BER with an indefinite length (X.690 §8.1.3.6).
  private static func indefinite(_ identifier: UInt8, _ contents: [UInt8]...) -> [UInt8] {
    [identifier, 0x80] + contents.joined() + [0, 0]
  }

  /// A quarter of a second before `seconds`, with its fraction trimmed as Apple trims it.
  private static func time(_ seconds: Int64) -> [UInt8] {
    Array((CivilTime(secondsSince1970: seconds - 1).rfc3339.dropLast() + ".76Z").utf8)
  }

  /// Refreshed receipts hold the hash as if it were a text: every octet that is no UTF-8 became U+FFFD.
  private static func mangled(_ hash: [UInt8]) -> [UInt8] {
    Array(String(decoding: hash, as: UTF8.self).utf8)
  }
}
