import AppAttest
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("What simulated devices make, as the verifier sees it")
struct VerificationTests {
  static let start: Int64 = 1_790_000_000
  static let authority = try? SimulatedAppleCA(now: start)
  static let appID = "TEAM123456.com.example.app"
  let hash = SHA256.hash("what is signed")

  /// A device with an attested key.
  struct Phone {
    let device: SimulatedDevice
    let keyID: String
    let octets: [UInt8]
    let attestation: [UInt8]
  }

  func phone(
    _ system: SimulatedSystem = .iOS27, _ distribution: SimulatedApp.Distribution = .development
  ) async throws -> Phone {
    let device = try SimulatedDevice(
      authority: try #require(Self.authority),
      app: SimulatedApp(id: Self.appID, version: "1314", distribution: distribution), system: system,
      now: { Self.start })
    let keyID = try await device.generateKey()
    let attestation = try await device.attestKey(keyID, clientDataHash: hash)
    return Phone(
      device: device, keyID: keyID, octets: try #require(Base64.decode(keyID)), attestation: attestation)
  }

  func app(_ environments: Set<AttestEnvironment> = [.development]) -> AcceptedApp {
    AcceptedApp(id: Self.appID, environments: environments)
  }

  func anchors() throws -> [TrustAnchor] {
    [TrustAnchor(try Certificate(der: try #require(Self.authority).root))]
  }

  @Test(
    "every shape verifies under the simulator's root, and none under Apple's", arguments: SimulatedSystem.all,
    [SimulatedApp.Distribution.development, .testFlight, .appStore, .developerID])
  func shapes(system: SimulatedSystem, distribution: SimulatedApp.Distribution) async throws {
    let phone = try await phone(system, distribution)
    let environment: AttestEnvironment = distribution == .development ? .development : .production
    let app = app([environment])
    let verified = try AttestationVerifier(apps: [app], anchors: try anchors()).verify(
      phone.attestation, clientDataHash: hash, keyID: phone.octets, now: Self.start)
    #expect(verified.key.environment == environment)
    #expect(verified.key.anchor == Self.authority?.fingerprint)
    #expect(verified.key.facts.osVersion == system.version)
    #expect(verified.key.facts.osBuild == system.build)
    #expect(verified.key.facts.platform == system.platform.rawValue)
    #expect(
      verified.key.facts.validationCategory
        == (system.extensions == .absent ? nil : distribution.rawValue))
    #expect(
      verified.key.facts.bundleVersion == (verified.extensions == nil || system == .macOS27 ? nil : "1314"))
    let receipt = try ReceiptVerifier(anchors: try anchors()).verify(
      verified.receipt, kind: .attest, key: verified.key, clientDataHash: hash, now: Self.start)
    #expect(receipt.riskMetric == nil)
    #expect(receipt.expiration == receipt.creation + 90 * 86_400)
    #expect(throws: AttestationError.self) {
      try AttestationVerifier(apps: [app]).verify(
        phone.attestation, clientDataHash: hash, keyID: phone.octets, now: Self.start)
    }
    #expect(throws: ReceiptError.self) {
      try ReceiptVerifier().verify(
        verified.receipt, kind: .attest, key: verified.key, clientDataHash: hash, now: Self.start)
    }
    let key = try P256.PublicKey(point: verified.key.publicKey)
    for counter: UInt32 in 1...2 {
      let assertion = try await phone.device.generateAssertion(phone.keyID, clientDataHash: hash)
      let proved = try Assertion.verify(assertion, clientDataHash: hash, key: key, app: app)
      #expect(proved.counter == counter)
      #expect((proved.extensions == nil) == (system.extensions == .absent))
    }
  }

  @Test(
    "a single flaw is named",
    arguments: [
      (SimulatedFlaw.otherApp, AttestationError.appMismatch), (.otherEnvironment, .environmentMismatch),
      (.wrongNonce, .nonceMismatch), (.counterNotZero, .counterNotZero),
      (.otherCredential, .credentialIDMismatch), (.otherKey, .publicKeyMismatch),
      (.expiredLeaf, .chain(.expired)), (.missingExtensions, .authenticatorData(.extensionsMissing)),
    ])
  func flaws(flaw: SimulatedFlaw, error: AttestationError) async throws {
    for system in [SimulatedSystem.iOS26, .iOS27] {
      let phone = try await phone(system)
      let flawed = try await phone.device.attestation(of: phone.keyID, flaw: flaw)
      let verifier = AttestationVerifier(apps: [app()], anchors: try anchors())
      #expect(throws: error) {
        try verifier.verify(flawed, clientDataHash: hash, keyID: phone.octets, now: Self.start)
      }
      let sound = try await phone.device.attestation(of: phone.keyID, flaw: nil)
      _ = try verifier.verify(sound, clientDataHash: hash, keyID: phone.octets, now: Self.start)
    }
  }

  @Test("a broken receipt stands in an attestation that holds")
  func brokenReceipt() async throws {
    let phone = try await phone()
    let flawed = try await phone.device.attestation(of: phone.keyID, flaw: .brokenReceipt)
    let verified = try AttestationVerifier(apps: [app()], anchors: try anchors()).verify(
      flawed, clientDataHash: hash, keyID: phone.octets, now: Self.start)
    #expect(throws: ReceiptError.badSignature) {
      try ReceiptVerifier(anchors: try anchors()).verify(
        verified.receipt, kind: .attest, key: verified.key, clientDataHash: hash, now: Self.start)
    }
  }

  @Test("a counter that was set back is signed again")
  func counterBack() async throws {
    let phone = try await phone()
    let verified = try AttestationVerifier(apps: [app()], anchors: try anchors()).verify(
      phone.attestation, clientDataHash: hash, keyID: phone.octets, now: Self.start)
    let key = try P256.PublicKey(point: verified.key.publicKey)
    #expect(await phone.device.setCounter(41, of: phone.keyID))
    let first = try await phone.device.generateAssertion(phone.keyID, clientDataHash: hash)
    #expect(await phone.device.setCounter(41, of: phone.keyID))
    let second = try await phone.device.generateAssertion(phone.keyID, clientDataHash: hash)
    for assertion in [first, second] {
      #expect(try Assertion.verify(assertion, clientDataHash: hash, key: key, app: app()).counter == 42)
    }
    #expect(await !phone.device.setCounter(1, of: "unknown"))
  }
}
