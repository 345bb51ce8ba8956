import Cryptography
import Encodings
import Testing

@testable import SignInWithApple

@Suite("The nonce")
struct NonceTests {
  private let apple = TestApple.shared
  private let raw = TestApple.raw
  private var digest: [UInt8] { SHA256.hash(raw) }
  private var hex: String { Hex.encode(digest) }
  private let web: (String, JSONValue?) = ("aud", .string(TestApple.web.clientID))

  private func mistake(_ claim: String?, web isWeb: Bool = false, _ rule: NonceRule) -> NonceMistake? {
    let changes: [(String, JSONValue?)] =
      [("nonce", claim.map { .string($0) })] + (isWeb ? [web] : [])
    do {
      _ = try apple.verify(changes, nonce: rule)
      return nil
    } catch AppleTokenError.nonce(let mistake) {
      return mistake
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  @Test("native: the lowercase hex SHA-256 of the value, ours or the client's own")
  func native() throws {
    #expect(try apple.verify([("nonce", .string(hex))], nonce: .challenge(raw)).nonce == hex)
    #expect(try apple.verify([("nonce", .string(hex))], nonce: .clientNonce(raw)).kind == .native)
  }

  @Test("web: the value itself, and only ours")
  func onTheWeb() throws {
    #expect(try apple.verify([("nonce", .string(raw)), web], nonce: .challenge(raw)).kind == .web)
    #expect(mistake(raw, web: true, .clientNonce(raw)) == .clientNonceForWeb)
    #expect(mistake(hex, web: true, .challenge(raw)) == .hashInsteadOfRaw)
    #expect(mistake(raw + " ", web: true, .challenge(raw)) == .unknown)
  }

  @Test("RULES §2.1: one value by the kind of audience, never either of both")
  func stolen() {
    // Whoever has a token has its claim, and gives that for the value.
    #expect(mistake(hex, .challenge(hex)) == .hashInsteadOfValue)
    #expect(mistake(hex, .clientNonce(hex)) == .hashInsteadOfValue)
    #expect(mistake(hex, web: true, .clientNonce(hex)) == .clientNonceForWeb)
  }

  @Test("a wrong one is named for the mistake that it looks like")
  func mistakes() {
    #expect(mistake(nil, .challenge(raw)) == .missing)
    #expect(mistake(nil, .clientNonce(raw)) == .missing)
    #expect(mistake(nil, .absent) == .notUsed)
    #expect(mistake(hex, .absent) == .notSent)
    #expect(mistake(raw, .clientNonce(raw)) == .rawInsteadOfHash)
    #expect(mistake(Base64.encode(digest), .clientNonce(raw)) == .base64InsteadOfHex)
    #expect(mistake(Base64.encodeURL(digest), .clientNonce(raw)) == .base64InsteadOfHex)
    #expect(mistake(hex.uppercased(), .clientNonce(raw)) == .uppercaseHex)
    #expect(mistake(Hex.encode(SHA256.hash(hex)), .clientNonce(raw)) == .hashedTwice)
    #expect(mistake(Hex.encode(SHA256.hash("other")), .clientNonce(raw)) == .unknown)
    #expect(mistake("", .clientNonce(raw)) == .unknown)
    #expect(mistake(String(hex.dropLast()), .clientNonce(raw)) == .unknown)
    #expect(mistake(Hex.encode(SHA256.hash("")), .clientNonce("")) == .unusableValue)
    let long = String(repeating: "n", count: 513)
    #expect(mistake(Hex.encode(SHA256.hash(long)), .clientNonce(long)) == .unusableValue)
  }

  @Test("texts that Unicode calls equivalent are different nonces")
  func octets() {
    #expect(mistake("\u{212B}ngstrom", web: true, .challenge("\u{C5}ngstrom")) == .unknown)
    #expect(mistake("e\u{301}", web: true, .challenge("\u{E9}")) == .unknown)
  }

  @Test("a nonce that is no text is no nonce")
  func types() {
    for value: JSONValue in [1, true, [.string(hex)], ["a": .string(hex)]] {
      #expect(throws: AppleTokenError.claim("nonce")) {
        try apple.verify([("nonce", value)], nonce: .challenge(raw))
      }
    }
    #expect(throws: AppleTokenError.nonce(.missing)) {
      try apple.verify([("nonce", .null)], nonce: .challenge(raw))
    }
  }

  @Test("no refusal shows the nonce")
  func secrecy() {
    let all: [NonceMistake] = [
      .notUsed, .notSent, .missing, .unusableValue, .clientNonceForWeb, .rawInsteadOfHash,
      .hashInsteadOfValue, .base64InsteadOfHex, .uppercaseHex, .hashedTwice, .hashInsteadOfRaw, .unknown,
    ]
    #expect(Set(all.map { "\($0)" }).count == all.count)
    for mistake in all {
      #expect(!"\(AppleTokenError.nonce(mistake))".contains(raw))
    }
  }
}
