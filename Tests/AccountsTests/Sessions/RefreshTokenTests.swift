import Accounts
import Encodings
import Testing

@Suite("Refresh token")
struct RefreshTokenTests {
  private let tokens = RefreshTokens(secrets: [
    RefreshSecret(id: 2, secret: [UInt8](repeating: 2, count: 32)),
    RefreshSecret(id: 1, secret: [UInt8](repeating: 1, count: 32)),
  ])
  private let token = RefreshToken(session: Example.id(7), counter: 0x0102_0304_0506)

  @Test("RULES §3.4: a token is derived, the same every time, and says session and counter")
  func derived() throws {
    let text = try #require(tokens.text(of: token))
    #expect(text.utf8.count == RefreshTokens.length)
    #expect(tokens.text(of: token) == text)
    #expect(tokens.read(text) == token)
    let octets = try #require(Base64.decodeURL(text.utf8))
    #expect(Array(octets[..<26]) == [1, 2] + token.session.octets + [0, 0, 1, 2, 3, 4, 5, 6])
    for counter in [0, 1, Int64.max] {
      let other = RefreshToken(session: token.session, counter: counter)
      #expect(tokens.read(try #require(tokens.text(of: other))) == other)
    }
    #expect(tokens.text(of: RefreshToken(session: token.session, counter: -1)) == nil)
  }

  @Test("tokens of the secret before are honoured, those of one that is gone are not")
  func rotation() throws {
    let old = RefreshTokens(secrets: [RefreshSecret(id: 1, secret: [UInt8](repeating: 1, count: 32))])
    let text = try #require(old.text(of: token))
    #expect(tokens.read(text) == token)
    #expect(old.read(try #require(tokens.text(of: token))) == nil)
    let other = RefreshTokens(secrets: [RefreshSecret(id: 1, secret: [UInt8](repeating: 9, count: 32))])
    #expect(other.read(text) == nil)
    #expect(RefreshTokens(secrets: []).read(text) == nil)
    #expect(RefreshTokens(secrets: []).text(of: token) == nil)
  }

  @Test("RULES §3.4: no flipped bit, no cut and no other spelling is taken")
  func malformed() throws {
    let text = try #require(tokens.text(of: token))
    let octets = try #require(Base64.decodeURL(text.utf8))
    for bit in 0..<octets.count * 8 {
      var changed = octets
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(tokens.read(Base64.encodeURL(changed)) == nil)
    }
    for length in 0..<octets.count { #expect(tokens.read(Base64.encodeURL(octets[..<length])) == nil) }
    for length in 0..<text.count { #expect(tokens.read(String(text.prefix(length))) == nil) }
    for other in [
      text + "=", text + "A", " " + text, text + "\n", Base64.encode(octets) + "==",
      String(text.dropLast()) + "é", String(repeating: "A", count: 56), "",
    ] { #expect(tokens.read(other) == nil) }
    let standard = Base64.encode(octets)
    if standard != text { #expect(tokens.read(standard) == nil) }
  }
}
