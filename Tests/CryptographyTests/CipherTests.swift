import Encodings
import Testing

@testable import Cryptography

@Suite("Keyed algorithms")
struct CipherTests {
  @Test("HMAC-SHA256 of RFC 4231")
  func hmac() {
    #expect(
      Hex.encode(HMACSHA256.code(for: Array("Hi There".utf8), key: [UInt8](repeating: 0x0B, count: 20)))
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    #expect(
      Hex.encode(HMACSHA256.code(for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    let long = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
    #expect(
      Hex.encode(HMACSHA256.code(for: long, key: [UInt8](repeating: 0xAA, count: 131)))
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    #expect(
      Hex.encode(HMACSHA256.code(for: [], key: []))
        == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
  }

  @Test("HKDF-SHA256 of RFC 5869 A.1 and A.3")
  func hkdf() throws {
    let secret = [UInt8](repeating: 0x0B, count: 22)
    #expect(
      Hex.encode(
        HKDFSHA256.derive(
          secret: secret, salt: Array(0...12), info: Array(0xF0...0xF9), length: 42))
        == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    #expect(
      Hex.encode(HKDFSHA256.derive(secret: secret, info: [], length: 42))
        == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    #expect(HKDFSHA256.derive(secret: secret, label: "a") != HKDFSHA256.derive(secret: secret, label: "b"))
  }

  @Test("AES-256-GCM of the GCM specification's test cases 13 and 14")
  func vectors() throws {
    let zeros = [UInt8](repeating: 0, count: 32)
    let nonce = [UInt8](repeating: 0, count: 12)
    #expect(
      Hex.encode(try AES256GCM.seal([], key: zeros, nonce: nonce, authenticated: []).dropFirst(12))
        == "530f8afbc74536b9a963b4f1c4cb738b")
    #expect(
      Hex.encode(
        try AES256GCM.seal(Array(zeros.prefix(16)), key: zeros, nonce: nonce, authenticated: []).dropFirst(12)
      )
        == "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")
  }

  @Test("what was sealed opens only whole, under its key and with its associated data")
  func sealing() throws {
    let key = SecureRandom.bytes(32)
    for plaintext in [[], Array("secret".utf8)] {
      let sealed = try AES256GCM.seal(plaintext, key: key, authenticated: [7])
      #expect(try AES256GCM.open(sealed, key: key, authenticated: [7]) == plaintext)
      #expect(sealed != (try AES256GCM.seal(plaintext, key: key, authenticated: [7])))
      #expect(throws: CryptographyError.authenticationFailure) { try AES256GCM.open(sealed, key: key) }
      #expect(throws: CryptographyError.authenticationFailure) {
        try AES256GCM.open(sealed, key: SecureRandom.bytes(32), authenticated: [7])
      }
      for cut in 0..<sealed.count {
        #expect(throws: CryptographyError.authenticationFailure) {
          try AES256GCM.open(Array(sealed[..<cut]), key: key, authenticated: [7])
        }
      }
      for bit in 0..<sealed.count * 8 {
        var changed = sealed
        changed[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(throws: CryptographyError.authenticationFailure) {
          try AES256GCM.open(changed, key: key, authenticated: [7])
        }
      }
    }
    #expect(throws: CryptographyError.invalidLength) { try AES256GCM.seal([], key: [1]) }
    #expect(throws: CryptographyError.invalidLength) { try AES256GCM.open([], key: [1]) }
  }
}
