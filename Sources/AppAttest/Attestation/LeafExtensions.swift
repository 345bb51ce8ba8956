import Cryptography

/// What Apple's own extensions of an attestation certificate say (1.2.840.113635.100.8.*).
struct LeafExtensions: Sendable, Equatable {
  /// `100.8.2`: exactly SEQUENCE { [1] { OCTET STRING (32) } }.
  var nonce: [UInt8]?
  /// `100.8.5`, field 1204: the app id in clear text.
  var appID: String?
  /// `100.8.6`: SEQUENCE { [3] { OCTET STRING } }, the key's access control list.
  var accessControlList: [UInt8]?
  /// `100.8.7`, field 1400.
  var osVersion: String?
  /// `100.8.7`, field 1403.
  var osBuild: String?
  /// `100.8.7`, field 1026.
  var platform: String?

  /// What the certificate has of them. An extension of another shape is read as absent: which of them must
  /// be there is the verification's to say.
  init(_ certificate: Certificate) {
    nonce = Self.field(1, of: certificate, "1.2.840.113635.100.8.2", alone: true).flatMap {
      $0.count == 32 ? $0 : nil
    }
    appID = Self.text(1204, of: certificate, "1.2.840.113635.100.8.5")
    accessControlList = Self.field(3, of: certificate, "1.2.840.113635.100.8.6", alone: true)
    osVersion = Self.text(1400, of: certificate, "1.2.840.113635.100.8.7")
    osBuild = Self.text(1403, of: certificate, "1.2.840.113635.100.8.7")
    platform = Self.text(1026, of: certificate, "1.2.840.113635.100.8.7")
  }

  private static func text(_ number: UInt32, of certificate: Certificate, _ identifier: String) -> String? {
    field(number, of: certificate, identifier).flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// The OCTET STRING in the explicitly tagged field of the extension's SEQUENCE; nil where it is missing,
  /// there twice, or, with `alone`, not the only field.
  private static func field(
    _ number: UInt32, of certificate: Certificate, _ identifier: String, alone: Bool = false
  ) -> [UInt8]? {
    guard let value = certificate.value(ofExtension: identifier) else { return nil }
    do {
      let sequence = try DERReader.single(value[...])
      guard sequence.tag == .sequence else { return nil }
      var fields = try sequence.reader
      var found: [UInt8]?
      var count = 0
      while !fields.isAtEnd {
        let field = try fields.next()
        count += 1
        guard field.tag == .context(number) else { continue }
        guard found == nil else { return nil }
        found = Array(try DERReader.single(field.content).octets)
      }
      return alone && count != 1 ? nil : found
    } catch {
      return nil
    }
  }
}
