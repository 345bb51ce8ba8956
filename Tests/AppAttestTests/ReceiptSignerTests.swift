import AppAttest
import Cryptography
import Testing

@testable import AppleSimulator

/// Receipts in DER, signed by a chain whose marks are chosen.
@Suite("Receipt signers")
struct ReceiptSignerTests {
  private static let now: Int64 = 1_790_000_000
  private let hash = SHA256.hash("client data")
  private let device: P256.PrivateKey
  private let key: DeviceKey

  init() throws {
    device = try P256.PrivateKey()
    key = DeviceKey(
      keyID: SHA256.hash(device.point), publicKey: device.point, appID: "TEAM123456.com.example.app",
      environment: .production, anchor: [], registeredAt: Self.now)
  }

  private struct Made {
    var anchor: TrustAnchor
    var receipt: [UInt8]
  }

  /// A receipt under a fresh chain; `signers` is how many SignerInfos stand in it.
  private func make(
    signerMark: Bool = true, authorityMark: Bool = true, signers: Int = 1, withSigner: Bool = true,
    content: [UInt8]? = nil
  ) throws -> Made {
    func draft(
      _ subject: String, by issuer: String, _ key: CertificateDraft.Key, _ extensions: [[UInt8]]
    ) -> CertificateDraft {
      CertificateDraft(
        issuer: .init(commonName: issuer), subject: .init(commonName: subject), notBefore: Self.now - 100,
        notAfter: Self.now + 100, key: key, extensions: extensions)
    }
    let (rootKey, authorityKey, signerKey) = (
      try P384.PrivateKey(), try P384.PrivateKey(), try P256.PrivateKey()
    )
    let root = try draft(
      "Root", by: "Root", .p384(rootKey.point), CertificateDraft.authority(pathLength: nil)
    )
    .signed { try rootKey.signature(for: $0) }
    let mark = CertificateDraft.extension(ObjectIdentifiers.apple(6, 2, 3), DERWriter.null)
    let authority = try draft(
      "Authority", by: "Root", .p384(authorityKey.point),
      CertificateDraft.authority(pathLength: 0) + (authorityMark ? [mark] : [])
    ).signed { try rootKey.signature(for: $0) }
    let signerMarks = [CertificateDraft.extension(ObjectIdentifiers.apple(12, 15), DERWriter.null)]
    let signer = draft(
      "Signer", by: "Authority", .p256(signerKey.point),
      CertificateDraft.leaf(usage: 0x80, unused: 7) + (signerMark ? signerMarks : []))
    let certificates = [try signer.signed { try authorityKey.signature(for: $0) }, authority, root]
    let payload = try content ?? self.payload()
    let digest = DERWriter.sequence(ObjectIdentifiers.sha256, DERWriter.null)
    let info = DERWriter.sequence(
      DERWriter.integer(1), DERWriter.sequence(signer.issuer.der, signer.serial), digest,
      DERWriter.sequence(ObjectIdentifiers.ecdsaWithSHA256),
      DERWriter.octetString(try signerKey.signature(for: payload)))
    let signed = DERWriter.sequence(
      DERWriter.integer(1), DERWriter.set(digest),
      DERWriter.sequence(ObjectIdentifiers.data, DERWriter.context(0, DERWriter.octetString(payload))),
      DERWriter.context(0, Array((withSigner ? certificates : Array(certificates.dropFirst())).joined())),
      DERWriter.value(0x31, Array([[UInt8]](repeating: info, count: signers).joined())))
    return Made(
      anchor: TrustAnchor(try Certificate(der: root)),
      receipt: DERWriter.sequence(ObjectIdentifiers.signedData, DERWriter.context(0, signed)))
  }

  private func payload(environment: String = "production") throws -> [UInt8] {
    let draft = CertificateDraft(
      issuer: .init(commonName: "CA"), subject: .init(commonName: "Key"), notBefore: Self.now,
      notAfter: Self.now + 1, key: .p256(device.point), extensions: [])
    let certificate = try draft.signed { try device.signature(for: $0) }
    return SimulatedReceipt(
      appID: key.appID, certificate: certificate, clientDataHash: hash, token: "t",
      isProduction: environment == "production", createdAt: Self.now, risk: 1
    ).payload(type: .attest)
  }

  private func verify(_ made: Made) throws -> Receipt {
    try ReceiptVerifier(anchors: [made.anchor]).verify(
      made.receipt, kind: .attest, key: key, clientDataHash: hash, now: Self.now)
  }

  @Test("a chain with both marks signs receipts")
  func marked() throws {
    #expect(try verify(make()).appID == key.appID)
  }

  @Test("any other leaf below the same root does not")
  func unmarked() throws {
    #expect(throws: ReceiptError.notAReceiptSigner) { try verify(make(signerMark: false)) }
    #expect(throws: ReceiptError.notAReceiptSigner) { try verify(make(authorityMark: false)) }
  }

  @Test("none and more than one signer are refused, and one who is not there")
  func signers() throws {
    for count in [0, 2] {
      #expect(throws: ReceiptError.encoding) { try verify(make(signers: count)) }
    }
    #expect(throws: ReceiptError.encoding) { try verify(make(withSigner: false)) }
  }

  @Test("content that is signed and no receipt is refused")
  func content() throws {
    let real = try payload()
    let field = DERWriter.sequence(DERWriter.integer(2), DERWriter.integer(1), DERWriter.octetString([0x41]))
    let fields = try DERReader.single(real[...]).content
    for content in [
      [], [0x31, 0x00], Array(real.dropLast()), real + [0], DERWriter.value(0x30, Array(fields)),
      // The app id twice.
      DERWriter.value(0x31, fields + field),
      try payload(environment: "sandbox"),
    ] {
      #expect(throws: ReceiptError.self) { try verify(make(content: content)) }
    }
    // Types that nobody knows yet.
    let unknown = DERWriter.sequence(DERWriter.integer(99), DERWriter.integer(7), DERWriter.octetString([]))
    #expect(try verify(make(content: DERWriter.value(0x31, fields + unknown))).appID == key.appID)
  }
}
