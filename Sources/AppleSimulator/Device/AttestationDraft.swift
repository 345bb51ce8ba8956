import Cryptography
import Encodings

/// An attestation before it is signed: every fact of it on its own, so that each can be made wrong.
struct AttestationDraft {
  var app: SimulatedApp
  var system: SimulatedSystem
  /// What was hashed with the authenticator data.
  var clientDataHash: [UInt8]
  /// Seconds since 1970.
  var issuedAt: Int64
  /// X9.63 uncompressed point of the leaf's key.
  var point: [UInt8]
  /// What the authenticator data holds.
  var data: AuthenticatorData
  var environment: [UInt8]
  var credential: [UInt8]
  /// The key inside the authenticator data.
  var innerPoint: [UInt8]
  var leafLife: Int64 = 2 * 86_400
  /// The number of keys that this device attested for this app in 30 days, this one included.
  var risk: Int
  /// Which device it is, 16 octets.
  var device: [UInt8]
  /// Mixed into the nonce: something other than nothing makes it wrong.
  var nonceSuffix: [UInt8] = []
  /// Whether the receipt's signature holds.
  var receiptHolds = true

  init(
    app: SimulatedApp, system: SimulatedSystem, point: [UInt8], clientDataHash: [UInt8], issuedAt: Int64,
    risk: Int, device: [UInt8]
  ) {
    self.app = app
    self.system = system
    self.point = point
    self.clientDataHash = clientDataHash
    self.issuedAt = issuedAt
    self.risk = risk
    self.device = device
    data = AuthenticatorData(app, system, counter: 0)
    environment = AuthenticatorData.environment(app)
    credential = SHA256.hash(point)
    innerPoint = point
  }

  /// The attestation object.
  func object(_ authority: SimulatedAppleCA) throws(SimulatorError) -> [UInt8] {
    let data = data.attestation(environment: environment, credential: credential, point: innerPoint)
    let leaf = try certificate(nonce: SHA256.hash(data + clientDataHash + nonceSuffix), authority)
    let receipt = SimulatedReceipt(
      appID: app.id, certificate: leaf, clientDataHash: clientDataHash,
      token: SimulatedReceipt.token(device: device, risk: risk),
      isProduction: app.distribution != .development,
      createdAt: issuedAt, risk: risk)
    var container = try receipt.container(authority, type: .attest)
    // The last six octets are the ends of the indefinite lengths; before them stands the signature.
    if !receiptHolds { container[container.count - 7] ^= 1 }
    let statement = CBORWriter.map([
      (
        CBORWriter.text("x5c"),
        CBORWriter.array([CBORWriter.bytes(leaf), CBORWriter.bytes(authority.attestationAuthority)])
      ),
      (CBORWriter.text("receipt"), CBORWriter.bytes(container)),
    ])
    return CBORWriter.map([
      (CBORWriter.text("fmt"), CBORWriter.text("apple-appattest")),
      (CBORWriter.text("attStmt"), statement), (CBORWriter.text("authData"), CBORWriter.bytes(data)),
    ])
  }

  /// The leaf, with Apple's extensions.
  private func certificate(
    nonce: [UInt8], _ authority: SimulatedAppleCA
  ) throws(SimulatorError) -> [UInt8] {
    var extensions = CertificateDraft.leaf(usage: 0xF0, unused: 4)
    if system.hasAccessControl {
      extensions.append(
        CertificateDraft.extension(
          ObjectIdentifiers.extendedKeyUsage, DERWriter.sequence(ObjectIdentifiers.apple(4, 24))))
    }
    extensions += [
      CertificateDraft.extension(ObjectIdentifiers.apple(8, 5), LeafExtensions.keyUsageProperties(app)),
      CertificateDraft.extension(ObjectIdentifiers.apple(8, 7), LeafExtensions.systemInformation(system)),
      CertificateDraft.extension(
        ObjectIdentifiers.apple(8, 2),
        DERWriter.sequence(DERWriter.context(1, DERWriter.octetString(nonce)))),
    ]
    if system.hasAccessControl {
      extensions.append(
        CertificateDraft.extension(ObjectIdentifiers.apple(8, 6), LeafExtensions.accessControl(system)))
    }
    let draft = CertificateDraft(
      issuer: authority.attestationName,
      subject: .init(commonName: Hex.encode(SHA256.hash(point)), unit: "AAA Certification"),
      notBefore: issuedAt - 86_400, notAfter: issuedAt + leafLife, key: .p256(point),
      extensions: extensions)
    do { return try draft.signed { try authority.signAttestation($0) } } catch { throw .cryptography }
  }
}
