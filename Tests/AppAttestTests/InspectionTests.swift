import AppAttest
import BramleyTesting
import Testing

@Suite("Inspections")
struct InspectionTests {
  @Test(
    "of a real attestation everything passes, or is skipped for a reason", Fixtures.required,
    arguments: RealAttestation.all)
  func attestation(_ real: RealAttestation) {
    let whole = Inspection.attestation(
      real.bytes, appID: real.appID, environment: real.environment, clientDataHash: real.clientDataHash,
      keyID: real.keyID, now: real.time)
    #expect(whole.holds)
    #expect(whole.verdicts.map(\.check) == AttestationCheck.allCases.map(\.rawValue))
    // These are iPhones, and every leaf names its app.
    #expect(whole.verdicts.filter { $0.outcome == .skipped }.map(\.check) == ["accessControl"])
    #expect(whole.facts.contains(Fact("app id", real.appID)))
    #expect(whole.facts.contains(Fact("environment", real.environment.rawValue)))
    let alone = Inspection.attestation(real.bytes, now: real.time)
    #expect(alone.holds)
    #expect(
      Set(alone.verdicts.filter { $0.outcome == .skipped }.map(\.check))
        == ["accessControl", "nonce", "keyID", "app", "extensionPolicy"])
  }

  @Test("one failure does not hide another", Fixtures.required, arguments: RealAttestation.shapes)
  func independent(_ real: RealAttestation) {
    let late = Inspection.attestation(
      real.bytes, appID: "A.b", clientDataHash: [1], keyID: [2], now: real.time + 400 * 86_400)
    #expect(!late.holds)
    #expect(
      late.verdicts.filter { $0.outcome == .failed }.map(\.check) == ["chain", "nonce", "keyID", "app"])
    #expect(late.verdicts.first { $0.check == "counter" }?.outcome == .passed)
  }

  @Test("of what cannot be read the reading fails and the rest is skipped")
  func unreadable() {
    for inspection in [
      Inspection.attestation([], appID: "A.b", now: 0), Inspection.assertion([], appID: "A.b"),
      Inspection.receipt([], appID: "A.b", now: 0),
    ] {
      #expect(inspection.verdicts.first?.outcome == .failed)
      #expect(inspection.verdicts.dropFirst().allSatisfy { $0.outcome == .skipped })
      #expect(inspection.facts.isEmpty)
      #expect(!inspection.holds)
    }
  }

  @Test("of a real assertion", Fixtures.required, arguments: RealAssertion.all)
  func assertion(_ real: RealAssertion) {
    let whole = Inspection.assertion(
      real.bytes, appID: real.app.id, clientDataHash: real.clientDataHash, publicKey: real.publicKey)
    #expect(whole.verdicts.allSatisfy { $0.outcome == .passed })
    let wrong = Inspection.assertion(
      real.bytes, appID: "A.b", clientDataHash: [1], publicKey: real.publicKey)
    #expect(wrong.verdicts.filter { $0.outcome == .failed }.map(\.check) == ["signature", "app"])
    let noKey = Inspection.assertion(real.bytes, clientDataHash: [1], publicKey: [4, 1])
    #expect(noKey.verdicts.filter { $0.outcome == .failed }.map(\.check) == ["signature"])
  }

  @Test("of a real receipt", Fixtures.required, arguments: RealReceipt.all)
  func receipt(_ real: RealReceipt) {
    let inspection = Inspection.receipt(
      real.bytes, appID: real.key.appID, publicKey: real.key.publicKey, environment: real.key.environment,
      kind: real.kind, clientDataHash: real.clientDataHash, now: real.creation, maximumAge: 300)
    let failed = inspection.verdicts.filter { $0.outcome == .failed }.map(\.check)
    if real.hasSignedAttributes {
      #expect(failed == ["signature"])
    } else if real.isDamaged {
      #expect(!inspection.holds)
    } else {
      #expect(failed.isEmpty)
    }
    #expect(inspection.facts.contains(Fact("app id", real.key.appID)))
  }
}
