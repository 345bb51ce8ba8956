import AppleSimulator
import BramleyAPI
import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("A simulated device")
struct DeviceTests {
  static let start: Int64 = 1_790_000_000
  static let authority = try? SimulatedAppleCA(now: start)
  let clock = FixedClock(seconds: start)
  let app = SimulatedApp(id: "TEAM123456.com.example.app", version: "1314")
  let hash = SHA256.hash("what is signed")

  func device(_ system: SimulatedSystem = .iOS27, state: [UInt8]? = nil) throws -> SimulatedDevice {
    let clock = clock
    return try SimulatedDevice(
      authority: try #require(Self.authority), app: app, system: system, state: state,
      now: { clock.seconds })
  }

  @Test(
    "attestations have the lengths and flags of real ones",
    arguments: [
      (SimulatedSystem.iOS14, 164, 0x40), (.iOS26, 164, 0x40), (.iOS27, 229, 0xC0),
      (.iOS27Unflagged, 229, 0x40), (.macOS27, 280, 0xC0),
    ] as [(SimulatedSystem, Int, UInt8)])
  func shapes(system: SimulatedSystem, length: Int, flags: UInt8) async throws {
    let device = try device(system)
    let keyID = try await device.generateKey()
    let parts = CBORParts.members(try await device.attestKey(keyID, clientDataHash: hash))
    let data = try #require(parts["authData"])
    #expect(data.count == length)
    #expect(data[32] == flags)
    #expect(Array(data[..<32]) == SHA256.hash(app.id))
    #expect(Array(data[33..<37]) == [0, 0, 0, 0])
    #expect(String(decoding: data[37..<53], as: UTF8.self) == "appattestdevelop")
    #expect(Array(data[55..<87]) == Base64.decode(keyID))
    #expect(keyID.utf8.count == 44)
  }

  @Test("the chain leads to the root, with the nonce in the leaf", arguments: SimulatedSystem.all)
  func chain(system: SimulatedSystem) async throws {
    let authority = try #require(Self.authority)
    let device = try device(system)
    let keyID = try await device.generateKey()
    let parts = CBORParts.members(try await device.attestKey(keyID, clientDataHash: hash))
    let leaf = try Certificate(der: try #require(parts["x5c.0"]))
    let intermediate = try Certificate(der: try #require(parts["x5c.1"]))
    let root = try Certificate(der: authority.root)
    let chain = try leaf.chain(through: [intermediate], to: [root], at: Self.start)
    #expect(chain.count == 3)
    #expect(chain.last?.fingerprint == authority.fingerprint)
    let nonce = SHA256.hash(try #require(parts["authData"]) + hash)
    #expect(
      leaf.value(ofExtension: "1.2.840.113635.100.8.2") == [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + nonce)
    #expect(SHA256.hash(try #require(leaf.publicKeyPoint)) == Base64.decode(keyID))
    #expect(leaf.notBefore == Self.start - 86_400)
    #expect(leaf.notAfter == Self.start + 2 * 86_400)
    #expect(throws: CertificateError.self) {
      try leaf.chain(through: [intermediate], to: [root], at: Self.start + 3 * 86_400)
    }
    let other = try Certificate(der: try SimulatedAppleCA(now: Self.start).root)
    #expect(throws: CertificateError.self) {
      try leaf.chain(through: [intermediate], to: [other], at: Self.start)
    }
  }

  @Test("a receipt is BER in pieces, signed over its content by the marked chain")
  func receipt() async throws {
    let device = try device()
    let keyID = try await device.generateKey()
    let parts = CBORParts.members(try await device.attestKey(keyID, clientDataHash: hash))
    let container = try #require(parts["receipt"])
    #expect(container.starts(with: [0x30, 0x80]))
    let receipt = try SignedData(container)
    try receipt.verify()
    #expect(!receipt.hasSignedAttributes)
    #expect(receipt.certificates.count == 3)
    #expect(receipt.signer.value(ofExtension: "1.2.840.113635.100.12.15") == [5, 0])
    let root = try Certificate(der: try #require(Self.authority).root)
    let chain = try receipt.signer.chain(through: receipt.certificates, to: [root], at: Self.start)
    #expect(chain[1].value(ofExtension: "1.2.840.113635.100.6.2.3") == [5, 0])
    var fields = try DERReader.single(receipt.content[...]).reader
    var types: [Int64] = []
    while !fields.isAtEnd {
      var field = try fields.next(.sequence).reader
      types.append(try field.next().integer)
    }
    #expect(types == [2, 3, 4, 5, 6, 7, 12, 21])
  }

  @Test(
    "assertions have the lengths of real ones, and sign the nonce as a message",
    arguments: [(SimulatedSystem.iOS26, 37), (.iOS27, 102), (.macOS27, 153)])
  func assertion(system: SimulatedSystem, length: Int) async throws {
    let device = try device(system)
    let keyID = try await device.generateKey()
    let attestation = CBORParts.members(try await device.attestKey(keyID, clientDataHash: hash))
    let leaf = try Certificate(der: try #require(attestation["x5c.0"]))
    let key = try P256.PublicKey(point: try #require(leaf.publicKeyPoint))
    for counter in 1...3 {
      let parts = CBORParts.members(try await device.generateAssertion(keyID, clientDataHash: hash))
      let data = try #require(parts["authenticatorData"])
      let signature = try #require(parts["signature"])
      #expect(data.count == length)
      #expect(Array(data[33..<37]) == [0, 0, 0, UInt8(counter)])
      let nonce = SHA256.hash(data + hash)
      #expect(key.isValid(signature: signature, for: nonce))
      #expect(!key.isValid(signature: signature, digest: nonce))
    }
  }

  @Test("keys are attested once, and only attested keys assert")
  func order() async throws {
    let device = try device()
    let keyID = try await device.generateKey()
    await #expect(throws: AppAttestError.invalidKey) {
      try await device.generateAssertion(keyID, clientDataHash: hash)
    }
    _ = try await device.attestKey(keyID, clientDataHash: hash)
    await #expect(throws: AppAttestError.invalidKey) {
      try await device.attestKey(keyID, clientDataHash: hash)
    }
    await #expect(throws: AppAttestError.invalidInput) {
      try await device.generateAssertion(keyID, clientDataHash: [])
    }
    await device.loseKeys()
    await #expect(throws: AppAttestError.invalidKey) {
      try await device.generateAssertion(keyID, clientDataHash: hash)
    }
    await #expect(throws: AppAttestError.invalidKey) {
      try await device.generateAssertion("no base64!", clientDataHash: hash)
    }
  }

  @Test("failures come as often as they were asked for, and change nothing")
  func failures() async throws {
    let device = try device()
    let keyID = try await device.generateKey()
    await device.fail(.attestKey, with: .serverUnavailable, times: 2)
    for _ in 0..<2 {
      await #expect(throws: AppAttestError.serverUnavailable) {
        try await device.attestKey(keyID, clientDataHash: hash)
      }
    }
    _ = try await device.attestKey(keyID, clientDataHash: hash)
    await device.setSupported(false)
    await #expect(throws: AppAttestError.unsupported) { try await device.generateKey() }
  }

  @Test("kept and restored, a device goes on where it was")
  func state() async throws {
    let first = try device()
    let keyID = try await first.generateKey()
    _ = try await first.attestKey(keyID, clientDataHash: hash)
    _ = try await first.generateAssertion(keyID, clientDataHash: hash)
    let second = try device(state: try await first.state)
    let parts = CBORParts.members(try await second.generateAssertion(keyID, clientDataHash: hash))
    #expect(parts["authenticatorData"]?[36] == 2)
    await #expect(throws: AppAttestError.invalidKey) {
      try await second.attestKey(keyID, clientDataHash: hash)
    }
    for broken in ["", "{}", "[]", #"{"kind":"bramley-simulated-device-1","keys":[{}]}"#] {
      #expect(throws: SimulatorError.malformedState) { try device(state: Array(broken.utf8)) }
    }
  }

  @Test("an authority kept and restored signs on, and shows no secret")
  func authorityState() async throws {
    let first = try SimulatedAppleCA(now: Self.start)
    let second = try SimulatedAppleCA(state: try first.state)
    #expect(second.fingerprint == first.fingerprint)
    let clock = clock
    let device = try SimulatedDevice(authority: second, app: app, now: { clock.seconds })
    let keyID = try await device.generateKey()
    let parts = CBORParts.members(try await device.attestKey(keyID, clientDataHash: hash))
    let leaf = try Certificate(der: try #require(parts["x5c.0"]))
    let intermediate = try Certificate(der: first.attestationAuthority)
    _ = try leaf.chain(
      through: [intermediate], to: [try Certificate(der: first.root)], at: Self.start)
    try SignedData(try #require(parts["receipt"])).verify()
    var dumped = "\(first)"
    dump(first, to: &dumped)
    #expect(!dumped.contains("PRIVATE"))
    #expect(throws: SimulatorError.malformedState) { try SimulatedAppleCA(state: [0x7B, 0x7D]) }
  }
}
