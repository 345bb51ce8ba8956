import AppAttest
import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("Attestations of real devices", Fixtures.required)
struct RealAttestationTests {
  @Test("each holds at its time, and gives its key and facts", arguments: RealAttestation.all)
  func valid(_ real: RealAttestation) throws {
    let verified = try real.verify()
    #expect(verified.key.keyID == real.keyID)
    #expect(verified.key.publicKey == real.publicKey)
    #expect(verified.key.appID == real.appID)
    #expect(verified.key.environment == real.environment)
    #expect(verified.key.registeredAt == real.time)
    #expect(verified.key.anchor == TrustAnchors.apple.attestation[0].fingerprint)
    let facts = verified.key.facts
    #expect(facts.osVersion == real.json["os"]?["os_version(1400)"]?.string)
    #expect(facts.osBuild == real.json["os"]?["os_build(1403)"]?.string)
    #expect(facts.platform == real.json["os"]?["platform(1026)"]?.string)
    let extensions = real.json["authData"]?["extensions"]
    #expect(facts.bundleVersion == extensions?["apple_bundle_version_01"]?.string)
    #expect(facts.validationCategory == (extensions?["apple_validation_category_01"] == nil ? nil : 3))
    #expect(!verified.receipt.isEmpty)
  }

  @Test("the anchors are Apple's, by their fingerprints")
  func anchors() {
    #expect(
      TrustAnchors.apple.attestation.map { Hex.encode($0.fingerprint) } == [
        "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932"
      ])
    #expect(
      TrustAnchors.apple.receipt.map { Hex.encode($0.fingerprint) } == [
        "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"
      ])
  }

  @Test("every wrong expectation has its own error", arguments: RealAttestation.all)
  func expectations(_ real: RealAttestation) throws {
    func verify(
      apps: [AcceptedApp]? = nil, anchors: [TrustAnchor] = TrustAnchors.apple.attestation,
      hash: [UInt8]? = nil, keyID: [UInt8]? = nil, now: Int64? = nil
    ) throws -> VerifiedAttestation {
      try AttestationVerifier(apps: apps ?? [real.app], anchors: anchors).verify(
        real.bytes, clientDataHash: hash ?? real.clientDataHash, keyID: keyID ?? real.keyID,
        now: now ?? real.time)
    }
    let other: AttestEnvironment = real.environment == .development ? .production : .development
    #expect(throws: AttestationError.appMismatch) { try verify(apps: []) }
    #expect(throws: AttestationError.appMismatch) {
      try verify(apps: [AcceptedApp(id: real.appID + "x", environments: [real.environment])])
    }
    #expect(throws: AttestationError.environmentMismatch) {
      try verify(apps: [AcceptedApp(id: real.appID, environments: [other])])
    }
    #expect(throws: AttestationError.environmentMismatch) {
      try verify(apps: [AcceptedApp(id: real.appID, environments: [])])
    }
    #expect(throws: AttestationError.nonceMismatch) { try verify(hash: SHA256.hash(real.clientDataHash)) }
    #expect(throws: AttestationError.nonceMismatch) { try verify(hash: []) }
    #expect(throws: AttestationError.keyIDMismatch) { try verify(keyID: SHA256.hash(real.keyID)) }
    #expect(throws: AttestationError.keyIDMismatch) { try verify(keyID: []) }
    #expect(throws: AttestationError.keyIDMismatch) { try verify(keyID: real.keyID + [0]) }
    #expect(throws: AttestationError.chain(.expired)) { try verify(now: real.time + 353 * 86_400) }
    #expect(throws: AttestationError.chain(.notYetValid)) { try verify(now: real.time - 2 * 86_400) }
    #expect(throws: AttestationError.chain(.untrusted)) { try verify(anchors: TrustAnchors.apple.receipt) }
    #expect(throws: AttestationError.chain(.untrusted)) { try verify(anchors: []) }
    #expect(throws: AttestationError.chain(.expired)) { try verify(now: .max) }
    #expect(throws: AttestationError.chain(.notYetValid)) { try verify(now: .min) }
    let several = [AcceptedApp(id: "A.b", environments: [other]), real.app]
    #expect(try verify(apps: several).key.appID == real.appID)
  }

  @Test("today they fail by time alone, as their files say", arguments: RealAttestation.all)
  func today(_ real: RealAttestation) throws {
    let now = try #require(RFC3339.seconds("2026-11-29T00:00:00Z"))
    #expect(throws: AttestationError.chain(.expired)) {
      try AttestationVerifier(apps: [real.app]).verify(
        real.bytes, clientDataHash: real.clientDataHash, keyID: real.keyID, now: now)
    }
  }

  @Test("a leaf holds until its end, whether that is after 2 days or 352", arguments: RealAttestation.all)
  func leafLife(_ real: RealAttestation) throws {
    let leaf = try Certificate(der: AttestationObject(real.bytes).certificates[0])
    let verifier = AttestationVerifier(apps: [real.app])
    for (now, holds) in [(leaf.notAfter - 1, true), (leaf.notAfter + 1, false)] {
      let verified = try? verifier.verify(
        real.bytes, clientDataHash: real.clientDataHash, keyID: real.keyID, now: now)
      #expect((verified != nil) == holds)
    }
  }

  @Test("any changed bit of the authenticator data breaks the nonce", arguments: RealAttestation.shapes)
  func authenticatorDataBits(_ real: RealAttestation) throws {
    let data = try AttestationObject(real.bytes).authenticatorData
    for place in real.range(of: data) {
      #expect(throws: AttestationError.nonceMismatch) { try real.verify(real.flipping(place, bit: place)) }
    }
  }

  @Test("any changed octet of a certificate is refused", arguments: RealAttestation.shapes)
  func certificateOctets(_ real: RealAttestation) throws {
    for (certificate, step) in zip(try AttestationObject(real.bytes).certificates, [5, 23]) {
      for place in stride(
        from: real.range(of: certificate).lowerBound, to: real.range(of: certificate).upperBound, by: step)
      {
        #expect(throws: AttestationError.self) { try real.verify(real.flipping(place, bit: place)) }
      }
    }
  }

  @Test(
    "a changed octet anywhere is refused or changes nothing that is believed", arguments: RealAttestation.all)
  func anyOctet(_ real: RealAttestation) throws {
    let verified = try real.verify()
    for place in stride(from: 0, to: real.bytes.count, by: 193) {
      // The receipt is proven by itself.
      guard let changed = try? real.verify(real.flipping(place, bit: place)) else { continue }
      #expect(changed.key == verified.key)
    }
  }

  @Test("cut anywhere, or with something behind it, it is refused", arguments: RealAttestation.all)
  func cuts(_ real: RealAttestation) {
    let step = RealAttestation.shapes.contains { $0.name == real.name } ? 1 : 61
    for cut in stride(from: 0, to: real.bytes.count, by: step) {
      #expect(throws: AttestationError.encoding(.truncated)) { try real.verify(Array(real.bytes[..<cut])) }
    }
    #expect(throws: AttestationError.encoding(.trailingContent)) { try real.verify(real.bytes + [0]) }
  }

  @Test("above 16 KiB nothing is read")
  func size() {
    for count in [AttestationObject.maximumLength + 1, 1 << 20] {
      #expect(throws: AttestationError.tooLarge) {
        try AttestationObject([UInt8](repeating: 0, count: count))
      }
    }
  }
}
