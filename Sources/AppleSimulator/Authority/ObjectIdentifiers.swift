import Cryptography

/// Object identifiers, encoded.
enum ObjectIdentifiers {
  static let ecPublicKey = DERWriter.objectIdentifier([1, 2, 840, 10_045, 2, 1])
  static let p256 = DERWriter.objectIdentifier([1, 2, 840, 10_045, 3, 1, 7])
  static let p384 = DERWriter.objectIdentifier([1, 3, 132, 0, 34])
  static let ecdsaWithSHA256 = DERWriter.objectIdentifier([1, 2, 840, 10_045, 4, 3, 2])
  static let sha256 = DERWriter.objectIdentifier([2, 16, 840, 1, 101, 3, 4, 2, 1])
  static let signedData = DERWriter.objectIdentifier([1, 2, 840, 113_549, 1, 7, 2])
  static let data = DERWriter.objectIdentifier([1, 2, 840, 113_549, 1, 7, 1])

  static let commonName = DERWriter.objectIdentifier([2, 5, 4, 3])
  static let stateName = DERWriter.objectIdentifier([2, 5, 4, 8])
  static let organization = DERWriter.objectIdentifier([2, 5, 4, 10])
  static let organizationalUnit = DERWriter.objectIdentifier([2, 5, 4, 11])

  static let basicConstraints = DERWriter.objectIdentifier([2, 5, 29, 19])
  static let keyUsage = DERWriter.objectIdentifier([2, 5, 29, 15])
  static let extendedKeyUsage = DERWriter.objectIdentifier([2, 5, 29, 37])

  /// Apple's arc 1.2.840.113635.100 and what follows it.
  static func apple(_ arcs: UInt64...) -> [UInt8] {
    DERWriter.objectIdentifier([1, 2, 840, 113_635, 100] + arcs)
  }
}
