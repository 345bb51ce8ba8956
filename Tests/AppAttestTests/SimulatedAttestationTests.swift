import AppAttest
import Cryptography
import Encodings
import Testing

@testable import AppleSimulator

/// What no published artefact has: every shape, and every step of Apple's list wrong by itself under a
/// signature that holds.
@Suite("Attestations of simulated devices")
struct SimulatedAttestationTests {
  private static let now: Int64 = 1_790_000_000
  private let hash = SHA256.hash("client data")

  /// An attested key with its attestation, one thing wrong in it.
  private func attest(
    _ system: SimulatedSystem, flaw: SimulatedFlaw?, distribution: SimulatedApp.Distribution = .appStore
  ) async throws -> (
    authority: SimulatedAppleCA, device: SimulatedDevice, keyID: String, attestation: [UInt8]
  ) {
    let authority = try SimulatedAppleCA(now: Self.now)
    let app = SimulatedApp(id: "TEAM123456.com.example.app", version: "7", distribution: distribution)
    let device = try SimulatedDevice(authority: authority, app: app, system: system) { Self.now }
    let keyID = try await device.generateKey()
    var attestation = try await device.attestKey(keyID, clientDataHash: hash)
    if let flaw { attestation = try await device.attestation(of: keyID, flaw: flaw) }
    return (authority, device, keyID, attestation)
  }

  private func verify(
    _ made: (authority: SimulatedAppleCA, device: SimulatedDevice, keyID: String, attestation: [UInt8]),
    policy: ExtensionPolicy = ExtensionPolicy()
  ) throws -> VerifiedAttestation {
    let anchor = TrustAnchor(try Certificate(der: made.authority.root))
    let app = AcceptedApp(
      id: "TEAM123456.com.example.app", environments: [.production], extensionPolicy: policy)
    return try AttestationVerifier(apps: [app], anchors: [anchor]).verify(
      made.attestation, clientDataHash: hash, keyID: #require(Base64.decode(made.keyID)), now: Self.now)
  }

  @Test("every shape holds under its own authority, and under no other", arguments: SimulatedSystem.all)
  func shapes(_ system: SimulatedSystem) async throws {
    let made = try await attest(system, flaw: nil)
    let verified = try verify(made)
    #expect(verified.key.anchor == made.authority.fingerprint)
    #expect(verified.key.facts.platform == system.platform.rawValue)
    #expect(verified.key.facts.osVersion == system.version)
    #expect((verified.extensions != nil) == (system.extensions != .absent))
    let receipt = try ReceiptVerifier(anchors: [TrustAnchor(Certificate(der: made.authority.root))]).verify(
      verified.receipt, kind: .attest, key: verified.key, clientDataHash: hash, now: Self.now)
    #expect(receipt.publicKey == verified.key.publicKey)
    #expect(throws: AttestationError.chain(.untrusted)) {
      try AttestationVerifier(apps: [AcceptedApp(id: verified.key.appID, environments: [.production])])
        .verify(
          made.attestation, clientDataHash: hash, keyID: verified.key.keyID, now: Self.now)
    }
    let assertion = try await made.device.generateAssertion(made.keyID, clientDataHash: hash)
    let proven = try Assertion.verify(
      assertion, clientDataHash: hash, key: P256.PublicKey(point: verified.key.publicKey),
      app: AcceptedApp(id: verified.key.appID, environments: []))
    #expect(proven.counter == 1)
    #expect(proven.extensions == verified.extensions)
  }

  @Test(
    "each step of Apple's list refuses by itself",
    arguments: [
      (SimulatedFlaw.otherApp, AttestationError.appMismatch), (.otherEnvironment, .environmentMismatch),
      (.wrongNonce, .nonceMismatch), (.counterNotZero, .counterNotZero),
      (.otherCredential, .credentialIDMismatch), (.otherKey, .publicKeyMismatch),
      (.expiredLeaf, .chain(.expired)), (.missingExtensions, .authenticatorData(.extensionsMissing)),
    ])
  func steps(flaw: SimulatedFlaw, error: AttestationError) async throws {
    let made = try await attest(.iOS27, flaw: flaw)
    #expect(throws: error) { try self.verify(made) }
  }

  @Test("a broken receipt leaves the attestation whole and is refused by itself")
  func receipt() async throws {
    let made = try await attest(.iOS26, flaw: .brokenReceipt)
    let verified = try verify(made)
    #expect(throws: ReceiptError.badSignature) {
      try ReceiptVerifier(anchors: [TrustAnchor(Certificate(der: made.authority.root))]).verify(
        verified.receipt, kind: .attest, key: verified.key, clientDataHash: hash, now: Self.now)
    }
  }

  @Test("a policy of categories and versions judges what OS 27 says, and says what absence means")
  func policy() async throws {
    let said = try await attest(.iOS27, flaw: nil)
    let silent = try await attest(.iOS26, flaw: nil)
    var policy = ExtensionPolicy(categories: [2, 4], bundleVersions: ["7"])
    for made in [said, silent] { #expect(throws: Never.self) { try verify(made, policy: policy) } }
    policy.acceptsAbsent = false
    #expect(throws: Never.self) { try verify(said, policy: policy) }
    #expect(throws: AttestationError.extensionPolicy) { try verify(silent, policy: policy) }
    #expect(throws: AttestationError.extensionPolicy) {
      try verify(said, policy: ExtensionPolicy(categories: [2]))
    }
    #expect(throws: AttestationError.extensionPolicy) {
      try verify(said, policy: ExtensionPolicy(bundleVersions: ["6"]))
    }
  }

  @Test("a Mac's key must have the access control list that Apple's page demands")
  func accessControl() async throws {
    var system = SimulatedSystem.macOS27
    system.hasAccessControl = false
    let made = try await attest(system, flaw: nil, distribution: .developerID)
    #expect(throws: AttestationError.accessControlMismatch) { try verify(made) }
  }

  @Test("a certificate that names another app than the authenticator data is refused")
  func certificateApp() async throws {
    let authority = try SimulatedAppleCA(now: Self.now)
    let key = try P256.PrivateKey()
    let other = SimulatedApp(id: "TEAM123456.com.example.other", distribution: .appStore)
    var draft = AttestationDraft(
      app: other, system: .iOS26, point: key.point, clientDataHash: hash, issuedAt: Self.now, risk: 1,
      device: [UInt8](repeating: 1, count: 16))
    draft.data.relyingParty = SHA256.hash("TEAM123456.com.example.app")
    let device = try SimulatedDevice(authority: authority, app: other) { Self.now }
    let keyID = Base64.encode(SHA256.hash(key.point))
    let made = (authority: authority, device: device, keyID: keyID, attestation: try draft.object(authority))
    #expect(throws: AttestationError.certificateAppMismatch) { try verify(made) }
  }
}
