import AppAttest
import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("Assertions of real devices", Fixtures.required)
struct RealAssertionTests {
  @Test("each holds and gives its counter and extensions", arguments: RealAssertion.all)
  func valid(_ real: RealAssertion) throws {
    let verified = try real.verify()
    #expect(Int64(verified.counter) == real.json["authenticatorData"]?["counter"]?.integer)
    let extensions = real.json["authenticatorData"]?["extensions"]
    #expect(verified.extensions?.bundleVersion == extensions?["apple_bundle_version_01"]?.string)
    if extensions?["apple_validation_category_01"] != nil {
      #expect(verified.extensions?.validationCategory == 3)
    }
  }

  @Test("the AT flag is set and no attested data follows: the flag is ignored", arguments: RealAssertion.all)
  func flags(_ real: RealAssertion) throws {
    let data = try Assertion(real.bytes).authenticatorData
    #expect(data.flags & 0x40 != 0)
    #expect(data.attestedKey == nil)
  }

  @Test("the nonce is the message of the signature and not its digest", arguments: RealAssertion.all)
  func doubleHash(_ real: RealAssertion) throws {
    let assertion = try Assertion(real.bytes)
    let key = try P256.PublicKey(point: real.publicKey)
    let nonce = SHA256.hash(Array(assertion.signedData) + real.clientDataHash)
    #expect(key.isValid(signature: assertion.signature, for: nonce))
    #expect(!key.isValid(signature: assertion.signature, digest: nonce))
  }

  @Test("another hash, key or app is refused", arguments: RealAssertion.all)
  func expectations(_ real: RealAssertion) throws {
    #expect(throws: AssertionError.badSignature) { try real.verify(hash: SHA256.hash(real.clientDataHash)) }
    #expect(throws: AssertionError.badSignature) { try real.verify(hash: []) }
    #expect(throws: AssertionError.appMismatch) {
      try real.verify(app: AcceptedApp(id: real.app.id + ".x", environments: []))
    }
    let other = try P256.PrivateKey().publicKey
    #expect(throws: AssertionError.badSignature) {
      try Assertion.verify(real.bytes, clientDataHash: real.clientDataHash, key: other, app: real.app)
    }
  }

  @Test("any changed bit is refused", arguments: RealAssertion.all)
  func bits(_ real: RealAssertion) throws {
    for bit in 0..<real.bytes.count * 8 {
      var changed = real.bytes
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: AssertionError.self) { try real.verify(changed) }
    }
  }

  @Test(
    "any changed bit of the signed data breaks the signature or cannot be read", arguments: RealAssertion.all)
  func signedBits(_ real: RealAssertion) throws {
    let assertion = try Assertion(real.bytes)
    let key = try P256.PublicKey(point: real.publicKey)
    for bit in 0..<assertion.signedData.count * 8 {
      var changed = Array(assertion.signedData)
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      let nonce = SHA256.hash(changed + real.clientDataHash)
      #expect(!key.isValid(signature: assertion.signature, for: nonce))
    }
  }

  @Test("cut anywhere, or with something behind it, it is refused", arguments: RealAssertion.all)
  func cuts(_ real: RealAssertion) {
    for cut in 0..<real.bytes.count {
      #expect(throws: AssertionError.encoding(.truncated)) { try real.verify(Array(real.bytes[..<cut])) }
    }
    #expect(throws: AssertionError.encoding(.trailingContent)) { try real.verify(real.bytes + [0]) }
  }

  @Test("the members may stand in either order", arguments: RealAssertion.all)
  func order(_ real: RealAssertion) throws {
    let assertion = try Assertion(real.bytes)
    let name = "authenticatorData"
    let data: [UInt8] =
      [0x71] + Array(name.utf8) + [0x58, UInt8(assertion.signedData.count)] + assertion.signedData
    let signature: [UInt8] =
      [0x69] + Array("signature".utf8) + [0x58, UInt8(assertion.signature.count)]
      + assertion.signature
    let unknown: [UInt8] = [0x66] + Array("cdHash".utf8) + [0xA1, 0x64] + Array("type".utf8) + [0x02]
    #expect(try real.verify([0xA2] + data + signature) == real.verify())
    #expect(try real.verify([0xA3] + data + unknown + signature) == real.verify())
    #expect(throws: AssertionError.encoding(.duplicateKey)) {
      try real.verify([0xA3] + data + signature + signature)
    }
    #expect(throws: AssertionError.structure) { try real.verify([0xA1] + data) }
    #expect(throws: AssertionError.structure) { try real.verify([0xA1] + signature) }
  }

  @Test("above 4 KiB nothing is read")
  func size() {
    #expect(throws: AssertionError.tooLarge) {
      try Assertion([UInt8](repeating: 0, count: Assertion.maximumLength + 1))
    }
  }
}
