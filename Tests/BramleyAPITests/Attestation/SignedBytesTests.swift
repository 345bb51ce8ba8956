import BramleyAPI
import Cryptography
import Encodings
import Testing

@Suite("Signed bytes")
struct SignedBytesTests {
  let audience = "https://api.example.com/v"
  let challenge: [UInt8] = (0..<42).map { UInt8($0) }

  @Test("RULES §1.1: the bytes of an assertion, written out")
  func request() {
    let bytes = SignedBytes.request(
      audience: audience, challenge: challenge, method: "POST", target: "/ai/anthropic/v1/messages?x=1",
      authorizationHash: SHA256.hash(""), bodyHash: SHA256.hash("{}"))
    #expect(
      String(decoding: bytes, as: UTF8.self) == """
        bramley-assert-v1
        https://api.example.com/v
        AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygp
        POST
        /ai/anthropic/v1/messages?x=1
        47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU
        RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o
        """)
  }

  @Test("RULES §1.1: each purpose signs other bytes")
  func purposes() {
    let request = SignedBytes.request(
      audience: audience, challenge: challenge, method: "POST", target: "/attest/v1/token",
      authorizationHash: SHA256.hash(""), bodyHash: SHA256.hash(""))
    let token = SignedBytes.tokenExchange(
      audience: audience, challenge: challenge, method: "POST", target: "/attest/v1/token",
      authorizationHash: SHA256.hash(""), bodyHash: SHA256.hash(""))
    #expect(request != token)
    #expect(token.starts(with: Array("bramley-token-v1\n".utf8)))
    let registration = SignedBytes.registration(audience: audience, challenge: challenge)
    #expect(
      String(decoding: registration, as: UTF8.self) == """
        bramley-attest-v1
        https://api.example.com/v
        AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygp
        """)
  }
}
