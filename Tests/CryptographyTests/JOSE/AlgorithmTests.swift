import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("ES256 and RS256")
struct AlgorithmTests {
  @Test("the token of RFC 7515 A.3 verifies")
  func knownToken() throws {
    let jwk = try JSONReader.read(
      Array(
        #"""
        {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}
        """#.utf8))
    guard case .p256(let key) = try JWK(jwk).key else { return }
    let token = try JWS.Compact(
      parsing: "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
        + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8IS"
        + "lSApmWQxfKTUJqPP3-Kg6NU1Q")
    #expect(throws: Never.self) { try ES256.verify(token, key: key) }
    #expect(try token.claims["iss"]?.string == "joe")
  }

  @Test("what is signed verifies with its key alone, and no changed bit does")
  func ownTokens() throws {
    let key = try P256.PrivateKey()
    let text = try ES256.sign(["sub": "a"], kid: "k1", key: key)
    let token = try JWS.Compact(parsing: text)
    #expect(token.header.algorithm == "ES256" && token.header.kid == "k1" && token.header.type == "JWT")
    #expect(token.signature.count == 64)
    let publicKey = try key.publicKey
    let other = try P256.PrivateKey().publicKey
    try ES256.verify(token, key: publicKey)
    try ES256.verify(token, keys: ["k0": other, "k1": publicKey])
    #expect(throws: JOSEError.signature) { try ES256.verify(token, key: other) }
    #expect(throws: JOSEError.signature) { try ES256.verify(token, keys: ["k1": other]) }
    #expect(throws: JOSEError.unknownKey) { try ES256.verify(token, keys: ["k0": publicKey]) }
    let nameless = try JWS.Compact(parsing: ES256.sign([:], kid: nil, type: nil, key: key))
    #expect(nameless.header.kid == nil && nameless.header.type == nil)
    #expect(throws: JOSEError.unknownKey) { try ES256.verify(nameless, keys: ["k1": publicKey]) }
    for position in 0..<text.utf8.count {
      for bit in 0..<8 {
        var octets = Array(text.utf8)
        octets[position] ^= 1 << UInt8(bit)
        guard let changed = String(validating: octets, as: UTF8.self) else { continue }
        #expect(throws: JOSEError.self) {
          try ES256.verify(JWS.Compact(parsing: changed), keys: ["k1": publicKey])
        }
      }
    }
  }

  @Test("a signature is 64 octets raw: DER, other lengths, zero and the order are none")
  func rawSignatures() throws {
    let key = try P256.PrivateKey()
    let publicKey = try key.publicKey
    let message = Array("m".utf8)
    let raw = try ES256.signature(for: message, key: key)
    #expect(ES256.isValid(raw, for: message, key: publicKey))
    #expect(!ES256.isValid(try key.signature(for: message), for: message, key: publicKey))
    for length in [0, 1, 32, 63, 65, 128] {
      let padded = Array((raw + raw).prefix(length))
      #expect(!ES256.isValid(padded, for: message, key: publicKey))
    }
    let zero = [UInt8](repeating: 0, count: 32)
    let full = [UInt8](repeating: 0xFF, count: 32)
    for part in [zero, full] {
      #expect(!ES256.isValid(part + raw[32...], for: message, key: publicKey))
      #expect(!ES256.isValid(raw[..<32] + part, for: message, key: publicKey))
      #expect(!ES256.isValid(part + part, for: message, key: publicKey))
    }
    // Short r and s, which DER spells shorter, come back to 32 octets.
    for _ in 0..<600 {
      let raw = try ES256.signature(for: message, key: key)
      #expect(raw.count == 64)
      if raw[0] == 0 || raw[32] == 0 { #expect(ES256.isValid(raw, for: message, key: publicKey)) }
    }
  }

  @Test("nothing in a header chooses the algorithm")
  func pinned() throws {
    let elliptic = try P256.PrivateKey()
    let rsa = try #require(RSATests.key)
    let publicKey = try elliptic.publicKey
    func token(_ algorithm: String, _ sign: ([UInt8]) throws -> [UInt8]) throws -> JWS.Compact {
      try JWS.Compact(
        parsing: JWS.compact(
          header: ["alg": .string(algorithm), "kid": "k"], payload: Array("{}".utf8), sign: sign))
    }
    for name in ["none", "None", "HS256", "RS256", "es256", "ES256K", "ES384", "", "ES256 "] {
      let signed = try token(name) { try ES256.signature(for: $0, key: elliptic) }
      #expect(throws: JOSEError.algorithm) { try ES256.verify(signed, keys: ["k": publicKey]) }
      #expect(throws: JOSEError.algorithm) { try ES256.verify(signed, key: publicKey) }
    }
    for name in ["none", "HS256", "ES256", "rs256", "RS512", "PS256"] {
      let signed = try token(name) { try rsa.signature(for: $0) }
      #expect(throws: JOSEError.algorithm) { try RS256.verify(signed, keys: ["k": rsa.publicKey]) }
      #expect(throws: JOSEError.algorithm) { try RS256.verify(signed, key: rsa.publicKey) }
    }
    // The public key as a secret of HMAC, in every spelling that a confused verifier might take.
    for secret in [publicKey.point, rsa.publicKey.modulus, Array(JWK(.rsa(rsa.publicKey)).json.text.utf8)] {
      let forged = try token("HS256") { HMACSHA256.code(for: $0, key: secret) }
      #expect(throws: JOSEError.algorithm) { try ES256.verify(forged, keys: ["k": publicKey]) }
      #expect(throws: JOSEError.algorithm) { try RS256.verify(forged, keys: ["k": rsa.publicKey]) }
    }
    let empty = try token("ES256") { _ in [] }
    #expect(throws: JOSEError.signature) { try ES256.verify(empty, keys: ["k": publicKey]) }
    let emptyRSA = try token("RS256") { _ in [] }
    #expect(throws: JOSEError.signature) { try RS256.verify(emptyRSA, keys: ["k": rsa.publicKey]) }
    let own = try JWS.Compact(parsing: RS256.sign([:], kid: "k", key: rsa))
    try RS256.verify(own, keys: ["k": rsa.publicKey])
  }

  @Test(
    "every real token of Apple verifies with the key that its kid names, and with no other", Fixtures.required
  )
  func realTokens() throws {
    let octets = try #require(Fixtures.bytes("siwa/apple-jwks-historical.json"))
    let keys = try JWKSet(parsing: octets).rsa
    #expect(keys.count >= 7)
    let tokens = Fixtures.documents(in: "siwa").compactMap { $0.string("jwt") }
    #expect(!tokens.isEmpty)
    for text in tokens {
      let token = try JWS.Compact(parsing: text)
      try RS256.verify(token, keys: keys)
      #expect(token.header.type == nil)
      for (kid, key) in keys where kid != token.header.kid {
        #expect(throws: JOSEError.signature) { try RS256.verify(token, key: key) }
      }
    }
  }
}
