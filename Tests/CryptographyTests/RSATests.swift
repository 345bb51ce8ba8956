import Cryptography
import Encodings
import Testing

@Suite("RSA")
struct RSATests {
  /// Making one takes a while; all tests share it.
  static let key: RSA.PrivateKey? = try? RSA.PrivateKey()

  @Test("a signature holds for its key and message alone")
  func signatures() throws {
    let key = try #require(Self.key)
    let message = Array("sample".utf8)
    let signature = try key.signature(for: message)
    #expect(signature.count == 256)
    #expect(try key.signature(for: message) == signature, "PKCS #1 v1.5 signs without randomness")
    #expect(key.publicKey.isValid(signature: signature, for: message))
    #expect(!key.publicKey.isValid(signature: signature, for: Array("Sample".utf8)))
    #expect(try !RSA.PrivateKey().publicKey.isValid(signature: signature, for: message))
    #expect(!key.publicKey.isValid(signature: [], for: message))
    #expect(!key.publicKey.isValid(signature: signature + [0], for: message))
    #expect(!key.publicKey.isValid(signature: [0] + signature, for: message))
    #expect(!key.publicKey.isValid(signature: Array(signature.dropLast()), for: message))
    for bit in 0..<signature.count * 8 {
      var changed = signature
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!key.publicKey.isValid(signature: changed, for: message))
    }
    #expect(key.publicKey.isValid(signature: signature, for: message))
  }

  @Test("weak, even and oversized numbers are no key")
  func numbers() throws {
    let good = try #require(Self.key).publicKey
    #expect(good.exponent == [1, 0, 1])
    #expect(try RSA.PublicKey(modulus: [0] + good.modulus, exponent: [0, 1, 0, 1]) == good)
    let even = Array(good.modulus.dropLast()) + [good.modulus[255] & 0xFE]
    let bad: [([UInt8], [UInt8])] = [
      ([], [1, 0, 1]), (good.modulus, []), (good.modulus, [1]), (good.modulus, [3]),
      (good.modulus, [1, 0, 0]), (good.modulus, [1, 0, 0, 0, 1]), (even, [1, 0, 1]),
      (Array(good.modulus.dropLast()), [1, 0, 1]), ([0x7F] + good.modulus.dropFirst(), [1, 0, 1]),
      ([UInt8](repeating: 0xFF, count: 1_025), [1, 0, 1]),
    ]
    for (modulus, exponent) in bad {
      #expect(throws: CryptographyError.invalidKey) {
        try RSA.PublicKey(modulus: modulus, exponent: exponent)
      }
    }
    #expect(throws: CryptographyError.invalidLength) { try RSA.PrivateKey(bits: 1_024) }
    #expect(throws: CryptographyError.invalidLength) { try RSA.PrivateKey(bits: 16_384) }
  }

  @Test("a PEM text gives the same key again, and no other kind of key")
  func pem() throws {
    let key = try #require(Self.key)
    #expect(try RSA.PrivateKey(pem: key.pem).publicKey == key.publicKey)
    #expect(throws: CryptographyError.invalidPEM) { try RSA.PrivateKey(pem: "") }
    #expect(throws: CryptographyError.invalidKey) { try RSA.PrivateKey(pem: P256.PrivateKey().pem) }
    #expect(throws: CryptographyError.invalidKey) { try P256.PrivateKey(pem: key.pem) }
  }

  @Test("a private key shows nothing of itself")
  func secrecy() throws {
    let key = try #require(Self.key)
    var text = "\(key)"
    dump(key, to: &text)
    #expect(!text.contains("EVPKey") && !text.contains("modulus"))
  }

  @Test("one key serves many threads")
  func threads() async throws {
    let key = try #require(Self.key)
    let held = try await withThrowingTaskGroup(of: Bool.self) { group in
      for task in 0..<4 {
        group.addTask {
          for round in 0..<20 {
            let message = [UInt8(task), UInt8(round)]
            guard key.publicKey.isValid(signature: try key.signature(for: message), for: message) else {
              return false
            }
          }
          return true
        }
      }
      return try await group.reduce(true) { $0 && $1 }
    }
    #expect(held)
  }
}
