import Cryptography

/// A certificate before it is signed (RFC 5280 §4.1). All are signed by ECDSA with SHA-256.
struct CertificateDraft {
  /// The public key of the subject.
  enum Key {
    case p256([UInt8])
    case p384([UInt8])
  }

  /// A name of parts in order, as Apple writes its own.
  struct Name {
    var commonName: String
    var unit: String?
    var organization = "Bramley Simulator"

    var der: [UInt8] {
      var parts = [Self.part(ObjectIdentifiers.commonName, commonName)]
      if let unit { parts.append(Self.part(ObjectIdentifiers.organizationalUnit, unit)) }
      parts.append(Self.part(ObjectIdentifiers.organization, organization))
      parts.append(Self.part(ObjectIdentifiers.stateName, "Nowhere"))
      return DERWriter.sequence(parts)
    }

    private static func part(_ type: [UInt8], _ text: String) -> [UInt8] {
      DERWriter.set(DERWriter.sequence(type, DERWriter.utf8String(text)))
    }
  }

  /// DER of the INTEGER.
  var serial = DERWriter.integer(unsigned: [1] + SecureRandom.bytes(7))
  var issuer: Name
  var subject: Name
  /// Seconds since 1970.
  var notBefore: Int64
  /// Seconds since 1970.
  var notAfter: Int64
  var key: Key
  /// Encoded extensions.
  var extensions: [[UInt8]]

  /// The certificate, signed by `sign`.
  func signed(by sign: ([UInt8]) throws -> [UInt8]) rethrows -> [UInt8] {
    let algorithm = DERWriter.sequence(ObjectIdentifiers.ecdsaWithSHA256)
    let body = DERWriter.sequence(
      DERWriter.context(0, DERWriter.integer(2)), serial, algorithm, issuer.der,
      DERWriter.sequence(DERWriter.time(notBefore), DERWriter.time(notAfter)), subject.der, keyInfo,
      DERWriter.context(3, DERWriter.sequence(extensions)))
    return DERWriter.sequence(body, algorithm, DERWriter.bitString(try sign(body)))
  }

  private var keyInfo: [UInt8] {
    let (curve, point) =
      switch key {
      case .p256(let point): (ObjectIdentifiers.p256, point)
      case .p384(let point): (ObjectIdentifiers.p384, point)
      }
    return DERWriter.sequence(
      DERWriter.sequence(ObjectIdentifiers.ecPublicKey, curve), DERWriter.bitString(point))
  }

  /// An extension around an encoded value.
  static func `extension`(_ identifier: [UInt8], critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
    DERWriter.sequence(
      [identifier] + (critical ? [DERWriter.boolean(true)] : []) + [DERWriter.octetString(value)])
  }

  /// The extensions of a certificate authority; `pathLength` bounds those below it.
  static func authority(pathLength: Int64?) -> [[UInt8]] {
    let constraints = [DERWriter.boolean(true)] + (pathLength.map { [DERWriter.integer($0)] } ?? [])
    return [
      `extension`(ObjectIdentifiers.basicConstraints, critical: true, DERWriter.sequence(constraints)),
      `extension`(ObjectIdentifiers.keyUsage, critical: true, DERWriter.bitString([0x06], unused: 1)),
    ]
  }

  /// The extensions of a leaf with these usages.
  static func leaf(usage: UInt8, unused: UInt8) -> [[UInt8]] {
    [
      `extension`(ObjectIdentifiers.basicConstraints, critical: true, DERWriter.sequence()),
      `extension`(ObjectIdentifiers.keyUsage, critical: true, DERWriter.bitString([usage], unused: unused)),
    ]
  }
}
