import Cryptography
import Encodings
import Testing

@Suite("P-256")
struct P256Tests {
  @Test("a signature holds for its key and message alone")
  func signatures() throws {
    let key = try P256.PrivateKey()
    let message = Array("sample".utf8)
    let signature = try key.signature(for: message)
    let publicKey = try key.publicKey
    #expect(publicKey.isValid(signature: signature, for: message))
    #expect(!publicKey.isValid(signature: signature, for: Array("Sample".utf8)))
    #expect(try !P256.PrivateKey().publicKey.isValid(signature: signature, for: message))
    #expect(!publicKey.isValid(signature: [], for: message))
    #expect(!publicKey.isValid(signature: signature + [0], for: message))
    for cut in 0..<signature.count {
      #expect(!publicKey.isValid(signature: Array(signature[..<cut]), for: message))
    }
    for bit in 0..<signature.count * 8 {
      var changed = signature
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!publicKey.isValid(signature: changed, for: message))
    }
    #expect(publicKey.isValid(signature: signature, for: message))
  }

  @Test("the key of RFC 6979 A.2.5 has the point that stands there")
  func knownKey() throws {
    let scalar = try #require(Hex.decode("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721"))
    let key = try P256.PrivateKey(scalar: scalar)
    #expect(
      Hex.encode(key.point)
        == "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
        + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")
    #expect(try key.scalar == scalar)
    // The deterministic signature of that RFC for SHA-256 and "sample".
    let signature = try #require(
      Hex.decode(
        "3046022100efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
          + "022100f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"))
    #expect(try key.publicKey.isValid(signature: signature, for: Array("sample".utf8)))
  }

  @Test("what is no point on the curve is no key")
  func points() throws {
    let point = try P256.PrivateKey().point
    #expect(point.count == 65)
    #expect(throws: CryptographyError.invalidKey) { try P256.PublicKey(point: []) }
    #expect(throws: CryptographyError.invalidKey) { try P256.PublicKey(point: Array(point.dropLast())) }
    #expect(throws: CryptographyError.invalidKey) { try P256.PublicKey(point: point + [0]) }
    #expect(throws: CryptographyError.invalidKey) {
      try P256.PublicKey(point: [4] + [UInt8](repeating: 0, count: 64))
    }
    #expect(throws: CryptographyError.invalidKey) {
      try P256.PublicKey(point: [4] + [UInt8](repeating: 0xFF, count: 64))
    }
    var off = point
    off[64] ^= 1
    #expect(throws: CryptographyError.invalidKey) { try P256.PublicKey(point: off) }
    // Hybrid and compressed forms of the same point.
    #expect(throws: CryptographyError.invalidKey) {
      try P256.PublicKey(point: [6 | point[64] & 1] + point[1...])
    }
    #expect(throws: CryptographyError.invalidKey) {
      try P256.PublicKey(point: [2 | point[64] & 1] + point[1..<33])
    }
  }

  @Test("scalars outside 1 to the order less one are no keys")
  func scalars() throws {
    let order = try #require(Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"))
    #expect(throws: CryptographyError.invalidKey) { try P256.PrivateKey(scalar: order) }
    #expect(throws: CryptographyError.invalidKey) {
      try P256.PrivateKey(scalar: [UInt8](repeating: 0, count: 32))
    }
    #expect(throws: CryptographyError.invalidLength) { try P256.PrivateKey(scalar: [1]) }
    let last = Array(order.dropLast()) + [0x50]
    #expect(throws: Never.self) { try P256.PrivateKey(scalar: last) }
  }

  @Test("a PEM text gives the same key again, and no other kind of key")
  func pem() throws {
    let key = try P256.PrivateKey()
    let again = try P256.PrivateKey(pem: key.pem)
    #expect(again.point == key.point)
    #expect(try again.publicKey.isValid(signature: key.signature(for: [1]), for: [1]))
    #expect(throws: CryptographyError.invalidPEM) { try P256.PrivateKey(pem: "") }
    #expect(throws: CryptographyError.invalidPEM) {
      try P256.PrivateKey(pem: "-----BEGIN PRIVATE KEY-----\nAAAA\n")
    }
    let other = try P384.PrivateKey()
    #expect(throws: CryptographyError.invalidKey) { try P256.PrivateKey(pem: other.pem) }
    #expect(try P384.PrivateKey(pem: other.pem).point == other.point)
    #expect(other.point.count == 97)
  }

  @Test("a private key shows nothing of itself")
  func secrecy() throws {
    let key = try P256.PrivateKey()
    #expect("\(key)" == "P256.PrivateKey")
    var text = ""
    dump(key, to: &text)
    #expect(!text.contains("EVPKey"))
  }

  @Test("one key serves many threads")
  func threads() async throws {
    let key = try P256.PrivateKey()
    let publicKey = try key.publicKey
    let held = try await withThrowingTaskGroup(of: Bool.self) { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<50 {
            let message = [UInt8(task), UInt8(round)]
            guard publicKey.isValid(signature: try key.signature(for: message), for: message) else {
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
