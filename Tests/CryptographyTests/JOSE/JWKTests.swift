import Cryptography
import Encodings
import Testing

@Suite("JWK")
struct JWKTests {
  private func read(_ value: JSONValue) throws -> JSONNode { try JSONReader.read(value.bytes) }

  @Test("the key of RFC 7638 §3.1 has the thumbprint that stands there")
  func thumbprint() throws {
    let key = try JWK(
      read([
        "kty": "RSA", "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
        "n": .string(
          "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjB"
            + "ZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaS"
            + "qzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPks"
            + "INHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"),
      ]))
    #expect(JWK.thumbprint(of: key.key) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    #expect(key.kid == "2011-04-29")
  }

  @Test("a key that was written reads the same")
  func roundTrip() throws {
    let elliptic = JWK(.p256(try P256.PrivateKey().publicKey))
    let rsa = JWK(.rsa(try #require(RSATests.key).publicKey), kid: "AIDOPK1")
    #expect(elliptic.kid == JWK.thumbprint(of: elliptic.key))
    for key in [elliptic, rsa] { #expect(try JWK(read(key.json)) == key) }
    let set = try JWKSet(parsing: JWKSet([elliptic, rsa]).json.bytes)
    #expect(set.keys == [elliptic, rsa])
    #expect(set.p256.keys.first == elliptic.kid && set.rsa.keys.first == "AIDOPK1")
    #expect(!elliptic.json.text.contains("\"d\""))
  }

  @Test("what is not a public key for ES256 or RS256 is none")
  func refused() throws {
    let good = JWK(.p256(try P256.PrivateKey().publicKey), kid: "k").json
    guard case .object(let members) = good else { return }
    func with(_ name: String, _ value: JSONValue?) -> JSONValue {
      .object(members.filter { $0.0 != name } + (value.map { [(name, $0)] } ?? []))
    }
    let short = Base64.encodeURL([UInt8](repeating: 1, count: 31))
    let bad: [JSONValue] = [
      [:], with("kty", nil), with("kty", "oct"), with("kty", "OKP"), with("crv", "P-384"), with("crv", nil),
      with("x", nil), with("y", ""), with("x", .string(short)), with("x", "!!"), with("y", 1),
      with("use", "enc"), with("use", 1), with("alg", "RS256"), with("alg", "none"),
      with("key_ops", ["sign"]), with("key_ops", "verify"), with("kid", 1), with("kid", ""),
    ]
    for value in bad {
      #expect(throws: JOSEError.key, "\(value.text)") { try JWK(read(value)) }
    }
    for name in ["alg", "use", "key_ops", "kid"] {
      #expect(throws: Never.self, "\(name) may be absent") { try JWK(read(with(name, nil))) }
    }
  }

  @Test("a set leaves out what is not known, and takes no two keys of one name")
  func sets() throws {
    let key = JWK(.p256(try P256.PrivateKey().publicKey), kid: "a")
    let other = JWK(.p256(try P256.PrivateKey().publicKey), kid: "a")
    let strange: JSONValue = ["kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "b"]
    #expect(try JWKSet(parsing: (["keys": [strange, key.json]] as JSONValue).bytes).keys == [key])
    #expect(throws: JOSEError.key) { try JWKSet(parsing: JWKSet([key, other]).json.bytes) }
    #expect(try JWKSet(parsing: Array(#"{"keys":[]}"#.utf8)).keys.isEmpty)
    for text in ["", "[]", "{}", #"{"keys":{}}"#, "<html>", #"{"keys":[],"keys":[]}"#] {
      #expect(throws: JOSEError.key) { try JWKSet(parsing: Array(text.utf8)) }
    }
    let many = JSONValue.array([JSONValue](repeating: strange, count: 65))
    #expect(throws: JOSEError.key) { try JWKSet(parsing: (["keys": many] as JSONValue).bytes) }
    #expect(throws: JOSEError.tooLarge) { try JWKSet(parsing: [UInt8](repeating: 0x20, count: 1 << 19)) }
  }
}
