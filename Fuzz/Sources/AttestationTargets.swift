import AppAttest
import Cryptography
import HTTPMessages

// What a stranger can send in place of a device's artefacts. Besides the sanitizers' findings each target
// fails when something is accepted: nobody but Apple can sign what these verifiers take.

func fuzzCBOR(_ bytes: [UInt8]) {
  if let value = try? CBORReader.single(bytes[...]) {
    precondition((try? CBORReader.single((bytes + [0])[...])) == nil, "trailing octets taken after \(value)")
  }
}

func fuzzAuthenticatorData(_ bytes: [UInt8]) {
  if let data = try? AuthenticatorData.attestation(bytes[...]) {
    precondition(data.attestedKey != nil, "an attestation without a key")
  }
  if let data = try? AuthenticatorData.assertion(bytes[...]) {
    precondition(data.attestedKey == nil, "an assertion with a key")
  }
}

func fuzzAttestation(_ bytes: [UInt8]) {
  let inspection = Inspection.attestation(
    bytes, appID: app.id, clientDataHash: hash, keyID: hash, now: 1_800_000_000)
  precondition(!inspection.holds, "the inspection of a forged attestation holds")
  let verified = try? AttestationVerifier(apps: [app]).verify(
    bytes, clientDataHash: hash, keyID: hash, now: 1_800_000_000)
  precondition(verified == nil, "a forged attestation is taken")
}

func fuzzAssertion(_ bytes: [UInt8]) {
  let verified = try? Assertion.verify(bytes, clientDataHash: hash, key: key, app: app)
  precondition(verified == nil, "a forged assertion is taken")
}

func fuzzReceipt(_ bytes: [UInt8]) {
  _ = try? Receipt(content: bytes)
  for kind in [Receipt.Kind.attest, .receipt] {
    let verified = try? ReceiptVerifier().verify(
      bytes, kind: kind, key: deviceKey, clientDataHash: hash, now: 1_800_000_000, maximumAge: nil)
    precondition(verified == nil, "a forged receipt is taken")
  }
  // Apple's answers, as whoever stands in Apple's place could write them.
  let stored = StoredReceipt(id: 1, key: deviceKey, receipt: bytes, fetchedAt: nil, failures: 0)
  let exchange = ReceiptExchange(verifier: ReceiptVerifier())
  for status in [200, 400, 429] {
    let fresh = try? exchange.judge(stored, status: status, fields: [:], body: bytes, now: 1_800_000_000)
    precondition(fresh == nil, "a forged answer is taken")
  }
  _ = try? DeviceCheckAnswer.bits(status: 200, body: bytes)
  _ = try? DeviceCheckAnswer.bits(status: 400, body: bytes)
  if let text = String(validating: bytes, as: UTF8.self), DeviceCheck.isToken(text) {
    precondition(text.utf8.count <= DeviceCheck.maximumTokenLength)
  }
}

private let app = AcceptedApp(id: "FUZZ000000.example.fuzz", environments: Set(AttestEnvironment.allCases))
private let hash = SHA256.hash("fuzz")

/// A key whose private half nobody keeps.
private let key: P256.PublicKey = {
  guard let made = try? P256.PrivateKey().publicKey else { fatalError("no key") }
  return made
}()

private let deviceKey = DeviceKey(
  keyID: hash, publicKey: key.point, appID: app.id, environment: .production, anchor: hash, registeredAt: 0)
