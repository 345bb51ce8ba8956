import Cryptography
import Encodings

/// The certificate authorities behind simulated devices: a root of its own, under it one that signs
/// attestations and one whose leaf signs receipts, each with the marker extensions that Apple's have.
///
/// Made of fresh randomness, and never shipped: a server trusts it only where its configuration names
/// ``fingerprint``. The keys of the root and of the receipts' authority are forgotten once their certificates
/// are signed.
public struct SimulatedAppleCA: Sendable {
  /// The root's certificate in DER: the trust anchor of attestations and of receipts.
  public let root: [UInt8]
  /// The certificate of the authority that signs attestations, DER.
  public let attestationAuthority: [UInt8]
  /// Those of a receipt: signer, its authority, root, in this order, DER.
  let receiptChain: [[UInt8]]
  let attestationName: CertificateDraft.Name
  let receiptIssuerName: CertificateDraft.Name
  /// The receipt signer's serial number, DER of the INTEGER.
  let receiptSerial: [UInt8]
  private let attestationKey: P384.PrivateKey
  private let receiptKey: P256.PrivateKey

  private static let day: Int64 = 86_400
  private static let attestationName = CertificateDraft.Name(commonName: "Simulated App Attestation CA 1")
  private static let receiptIssuerName = CertificateDraft.Name(
    commonName: "Simulated Application Integration CA 5")

  /// SHA-256 of the root's DER, 32 octets: what a configuration names.
  public var fingerprint: [UInt8] { SHA256.hash(root) }

  /// A fresh authority, valid from a day before `now` (seconds since 1970) for ten years.
  public init(now: Int64) throws(SimulatorError) {
    do { try self.init(fresh: now) } catch { throw .cryptography }
  }

  private init(fresh now: Int64) throws {
    let rootKey = try P384.PrivateKey()
    let receiptAuthorityKey = try P384.PrivateKey()
    attestationKey = try P384.PrivateKey()
    receiptKey = try P256.PrivateKey()
    attestationName = Self.attestationName
    receiptIssuerName = Self.receiptIssuerName
    let rootName = CertificateDraft.Name(commonName: "Simulated App Attestation Root CA")
    func draft(
      _ subject: CertificateDraft.Name, by issuer: CertificateDraft.Name, _ key: CertificateDraft.Key,
      _ extensions: [[UInt8]]
    ) -> CertificateDraft {
      CertificateDraft(
        issuer: issuer, subject: subject, notBefore: now - Self.day, notAfter: now + 3_652 * Self.day,
        key: key, extensions: extensions)
    }
    root = try draft(
      rootName, by: rootName, .p384(rootKey.point), CertificateDraft.authority(pathLength: nil)
    ).signed { try rootKey.signature(for: $0) }
    attestationAuthority = try draft(
      attestationName, by: rootName, .p384(attestationKey.point), CertificateDraft.authority(pathLength: 0)
    ).signed { try rootKey.signature(for: $0) }
    let marker = CertificateDraft.extension(ObjectIdentifiers.apple(6, 2, 3), DERWriter.null)
    let receiptAuthority = try draft(
      receiptIssuerName, by: rootName, .p384(receiptAuthorityKey.point),
      CertificateDraft.authority(pathLength: nil) + [marker]
    ).signed { try rootKey.signature(for: $0) }
    let signerMarker = CertificateDraft.extension(ObjectIdentifiers.apple(12, 15), DERWriter.null)
    let signer = draft(
      .init(commonName: "Simulated Attestation Fraud Receipt Signing"), by: receiptIssuerName,
      .p256(receiptKey.point), CertificateDraft.leaf(usage: 0x80, unused: 7) + [signerMarker])
    receiptSerial = signer.serial
    receiptChain = [
      try signer.signed { try receiptAuthorityKey.signature(for: $0) }, receiptAuthority, root,
    ]
  }

  /// What ``state`` gave.
  public init(state: [UInt8]) throws(SimulatorError) {
    guard let node = try? JSONReader.read(state), node["kind"]?.string == Self.kind,
      let certificates = node["certificates"]?.elements?.compactMap({ $0.string.flatMap(Base64.decode) }),
      certificates.count == 4, let serial = node["receipt_serial"]?.string.flatMap(Base64.decode),
      let attestationKey = node["attestation_key"]?.string.flatMap({ try? P384.PrivateKey(pem: $0) }),
      let receiptKey = node["receipt_key"]?.string.flatMap({ try? P256.PrivateKey(pem: $0) })
    else { throw .malformedState }
    root = certificates[0]
    attestationAuthority = certificates[1]
    receiptChain = [certificates[3], certificates[2], certificates[0]]
    receiptSerial = serial
    attestationName = Self.attestationName
    receiptIssuerName = Self.receiptIssuerName
    self.attestationKey = attestationKey
    self.receiptKey = receiptKey
  }

  /// Everything, to be kept in a file that only its owner can read: whoever has it passes for any device
  /// wherever this authority is trusted.
  public var state: [UInt8] {
    get throws(SimulatorError) {
      let certificates = [root, attestationAuthority, receiptChain[1], receiptChain[0]]
      do {
        let value: JSONValue = [
          "kind": .string(Self.kind),
          "certificates": .array(certificates.map { .string(Base64.encode($0)) }),
          "receipt_serial": .string(Base64.encode(receiptSerial)),
          "attestation_key": .string(try attestationKey.pem), "receipt_key": .string(try receiptKey.pem),
        ]
        return Array((value.prettyText + "\n").utf8)
      } catch {
        throw .cryptography
      }
    }
  }

  private static let kind = "bramley-simulated-ca-1"

  /// Signs the certificate of an attested key.
  func signAttestation(_ body: [UInt8]) throws(SimulatorError) -> [UInt8] {
    do { return try attestationKey.signature(for: body) } catch { throw .cryptography }
  }

  /// Signs the content of a receipt.
  func signReceipt(_ content: [UInt8]) throws(SimulatorError) -> [UInt8] {
    do { return try receiptKey.signature(for: content) } catch { throw .cryptography }
  }
}

extension SimulatedAppleCA: CustomStringConvertible, CustomReflectable {
  /// The fingerprint, and nothing secret.
  public var description: String { "SimulatedAppleCA(\(Hex.encode(fingerprint)))" }
  /// Nothing secret.
  public var customMirror: Mirror { Mirror(self, children: ["fingerprint": Hex.encode(fingerprint)]) }
}
