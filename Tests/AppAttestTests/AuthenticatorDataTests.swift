import AppAttest
import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("Authenticator data")
struct AuthenticatorDataTests {
  private let rpID = SHA256.hash("TEAM123456.com.example.app")

  private func assertion(flags: UInt8, _ rest: String, counter: [UInt8] = [0, 0, 0, 1]) throws
    -> AuthenticatorData
  {
    try AuthenticatorData.assertion((rpID + [flags] + counter + #require(Hex.decode(rest)))[...])
  }

  /// The map of a real iPhone with iOS 27.0.1.
  private let real =
    "a2776170706c655f62756e646c655f76657273696f6e5f30316431333134"
    + "781c6170706c655f76616c69646174696f6e5f63617465676f72795f30314403000000"

  @Test("extensions are read whether the ED flag is set or clear")
  func flag() throws {
    for flags in [0x40, 0xC0, 0x00, 0x80] as [UInt8] {
      let data = try assertion(flags: flags, real)
      #expect(data.extensions == DeviceExtensions(bundleVersion: "1314", validationCategory: 3))
      #expect(data.attestedKey == nil)
    }
    #expect(try assertion(flags: 0x40, "").extensions == nil)
    #expect(throws: AuthenticatorDataError.extensionsMissing) { try assertion(flags: 0xC0, "") }
    #expect(throws: AuthenticatorDataError.extensionsMissing) { try assertion(flags: 0x80, "") }
  }

  @Test("a category is four octets, the least significant first, or a number")
  func category() throws {
    let name = "781c6170706c655f76616c69646174696f6e5f63617465676f72795f3031"
    for (value, category) in [
      ("4403000000", 3), ("4400000001", 1 << 24), ("44ffffffff", UInt32.max), ("03", 3), ("0a", 10),
      ("1affffffff", .max),
    ] as [(String, UInt32)] {
      #expect(try assertion(flags: 0xC0, "a1" + name + value).extensions?.validationCategory == category)
    }
    for value in ["43030000", "450300000000", "40", "20", "6133", "1b0000000100000000", "f6", "8103"] {
      #expect(throws: AuthenticatorDataError.unexpectedExtension) {
        try assertion(flags: 0xC0, "a1" + name + value)
      }
    }
  }

  @Test("both spellings of the names are read, but not both at once")
  func names() throws {
    let documented = "a26d62756e646c6556657273696f6e6131" + "7276616c69646174696f6e43617465676f727904"
    #expect(
      try assertion(flags: 0xC0, documented).extensions
        == DeviceExtensions(bundleVersion: "1", validationCategory: 4))
    let both = "a2776170706c655f62756e646c655f76657273696f6e5f30316131" + "6d62756e646c6556657273696f6e6131"
    #expect(throws: AuthenticatorDataError.unexpectedExtension) { try assertion(flags: 0xC0, both) }
  }

  @Test("a Mac's map: code directory hash and no bundle version; unknown keys are left alone")
  func mac() throws {
    let hash = [UInt8](repeating: 7, count: 32)
    let map =
      "a3756170706c655f63645f686173685f686173685f30315820" + Hex.encode(hash)
      + "756170706c655f63645f686173685f747970655f30314102"
      + "781c6170706c655f76616c69646174696f6e5f63617465676f72795f30314406000000"
    let extensions = try assertion(flags: 0xC0, map).extensions
    #expect(extensions == DeviceExtensions(validationCategory: 6, codeDirectoryHash: hash))
  }

  @Test("what follows must be one map and nothing else")
  func trailing() {
    #expect(throws: AuthenticatorDataError.extensions(.trailingContent)) {
      try assertion(flags: 0xC0, real + "00")
    }
    #expect(throws: AuthenticatorDataError.extensions(.duplicateKey)) {
      try assertion(flags: 0xC0, "a26d62756e646c6556657273696f6e61316d62756e646c6556657273696f6e6131")
    }
    for rest in ["00", "80", "40", "f6"] {
      #expect(throws: AuthenticatorDataError.unexpectedExtension) { try assertion(flags: 0xC0, rest) }
      #expect(throws: AuthenticatorDataError.unexpectedExtension) { try assertion(flags: 0x40, rest) }
    }
  }

  @Test("the counter is a big-endian number of 32 bits without a sign")
  func counter() throws {
    #expect(try assertion(flags: 0x40, "", counter: [0x80, 0, 0, 1]).counter == 0x8000_0001)
    #expect(try assertion(flags: 0x40, "", counter: [255, 255, 255, 255]).counter == .max)
  }

  @Test("the AAGUIDs are all 16 octets, the seven zeros included")
  func environments() {
    #expect(Hex.encode(AttestEnvironment.development.aaguid) == "617070617474657374646576656c6f70")
    #expect(Hex.encode(AttestEnvironment.production.aaguid) == "617070617474657374" + "00000000000000")
  }

  @Test("cut anywhere it is refused, and a slice reads as its copy does")
  func cuts() throws {
    let key = try P256.PrivateKey().point
    let head = rpID + [0xC0, 0, 0, 0, 0] + AttestEnvironment.production.aaguid + [0, 32] + SHA256.hash(key)
    let cose =
      try #require(Hex.decode("a5010203262001215820")) + key[1...32] + [0x22, 0x58, 0x20] + key[33...]
    let whole = try head + cose + #require(Hex.decode(real))
    let data = try AuthenticatorData.attestation(whole[...])
    #expect(data.attestedKey?.publicKey == key)
    #expect(data.attestedKey?.environment == .production)
    #expect(data.extensions?.validationCategory == 3)
    let within = [1, 2, 3] + whole + [4]
    #expect(try AuthenticatorData.attestation(within[3..<within.count - 1]) == data)
    for cut in 0..<whole.count {
      #expect(throws: AuthenticatorDataError.self) { try AuthenticatorData.attestation(whole[..<cut]) }
      #expect(throws: AuthenticatorDataError.self) { try AuthenticatorData.assertion(whole[..<min(cut, 36)]) }
    }
    #expect(throws: AuthenticatorDataError.attestedDataMissing) {
      try AuthenticatorData.attestation(whole[..<37])
    }
    var wrong = whole
    wrong[54] = 31
    #expect(throws: AuthenticatorDataError.credentialIDLength) {
      try AuthenticatorData.attestation(wrong[...])
    }
    // kty, alg, crv and the lengths of x and y.
    for place in [89, 91, 93] {
      wrong = whole
      wrong[place] ^= 1
      #expect(throws: AuthenticatorDataError.self) { try AuthenticatorData.attestation(wrong[...]) }
    }
  }

  @Test("random octets never trap")
  func random() {
    var random = SeededRandom(seed: 5)
    for round in 0..<5_000 {
      let bytes = random.bytes(round % 240)
      _ = try? AuthenticatorData.attestation(bytes[...])
      _ = try? AuthenticatorData.assertion(bytes[...])
    }
  }
}
