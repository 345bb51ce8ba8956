import Cryptography
import Encodings
import Testing

@testable import SignInWithApple

@Suite("The client secret")
struct ClientSecretTests {
  private static let key = TestKeys.elliptic.private
  private static let pem = (try? key.pem) ?? ""
  private static let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()

  static let spellings: [String] = [
    pem,
    pem.replacing("\n", "\r\n"),
    pem.replacing("\n", "\\n"),
    pem.replacing("\n", "\\r\\n"),
    pem.replacing("\n", " "),
    pem.replacing("\n", ""),
    pem.replacing("\n", "\r"),
    pem.replacing("\n", "  \n"),
    "\u{FEFF}" + pem,
    "\n\n  " + pem + "\t\n \n",
    "\"" + pem.replacing("\n", "\\n") + "\"",
    "'" + pem + "'",
    String(pem.dropLast()),
    Base64.encode(Array(pem.utf8)),
    Base64.encodeURL(Array(pem.utf8)),
    Base64.encode(Array(pem.replacing("\n", "\r\n").utf8)),
    Base64.encode(Array(pem.replacing("\n", "\\n").utf8)) + "\n",
    lines(Base64.encode(Array(pem.utf8))),
    body, body + "\n", lines(body), body.replacing("=", ""), " " + lines(body) + " ",
  ]

  private static func lines(_ text: String) -> String {
    var rest = text[...]
    var out = ""
    while !rest.isEmpty {
      out += rest.prefix(20) + "\n"
      rest = rest.dropFirst(20)
    }
    return out
  }

  @Test("a .p8 file is read in every spelling", arguments: spellings)
  func spelling(_ text: String) throws {
    #expect(try ApplePrivateKey.read(text).point == Self.key.point)
  }

  @Test("what is no such key is named for what it is, and not shown")
  func mistakes() throws {
    let rsa = try TestApple.shared.key.pem
    let curve = try P384.PrivateKey().pem
    let half = String(Self.pem.prefix(100))
    let certificate = Self.pem.replacing("PRIVATE KEY", "CERTIFICATE")
    let bad: [(String, ApplePrivateKey.Mistake)] = [
      ("", .empty), (" \n\t", .empty), ("\"\"", .empty), ("not a key!", .notBase64), (half, .unfinished),
      (String(Self.pem.dropFirst(30)), .unfinished), (certificate, .otherKind),
      (Self.pem.replacing("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"), .otherKind),
      (Self.pem.replacing("PRIVATE KEY", "PUBLIC KEY"), .otherKind), (rsa, .otherCurve), (curve, .otherCurve),
      ("AAAA", .otherKind), (String(Self.body.dropLast(8)), .otherKind),
      (Base64.encode(Array(certificate.utf8)), .otherKind), (Base64.encode(Array(rsa.utf8)), .otherCurve),
      ("-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----", .notBase64),
      ("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----", .otherKind),
      (String(repeating: "A", count: 16_385), .tooLong),
    ]
    for (text, mistake) in bad {
      #expect(throws: mistake, "\(text.prefix(60))") { try ApplePrivateKey.read(text) }
      #expect(!"\(mistake)".contains("AAAA"))
    }
    for cut in 0..<Self.pem.utf8.count - 1 {
      #expect(throws: ApplePrivateKey.Mistake.self) { try ApplePrivateKey.read(String(Self.pem.prefix(cut))) }
    }
  }

  @Test("it is signed with ES256 in 64 raw octets, for one client, for five minutes")
  func secret() throws {
    let key = AppleSigningKey(teamID: "TEAM123456", keyID: "KEY1234567", key: Self.key)
    let secret = try key.clientSecret(for: "com.example.app", now: 1_800_000_000)
    let token = try JWS.Compact(parsing: secret.value)
    try ES256.verify(token, keys: ["KEY1234567": TestKeys.elliptic.publicKey])
    #expect(token.signature.count == 64)
    #expect(token.header.type == nil)
    let claims = try token.claims
    #expect(claims["iss"]?.string == "TEAM123456" && claims["sub"]?.string == "com.example.app")
    #expect(claims["aud"]?.string == "https://appleid.apple.com")
    #expect(claims["iat"]?.integer == 1_800_000_000 && claims["exp"]?.integer == 1_800_000_300)
    #expect(claims.members?.count == 5)
    var text = "\(secret)"
    dump(secret, to: &text)
    #expect(!text.contains(secret.value) && text.contains("com.example.app"))
    _ = try key.clientSecret(for: "com.example.app", now: .max)
  }
}

extension String {
  /// With every occurrence of one text replaced by another, by octets: in Swift CR LF is one character.
  fileprivate func replacing(_ old: String, _ new: String) -> String {
    var out: [UInt8] = []
    var rest = Array(utf8)[...]
    let old = Array(old.utf8)
    while !rest.isEmpty {
      if rest.starts(with: old) {
        out += Array(new.utf8)
        rest = rest.dropFirst(old.count)
      } else if let first = rest.popFirst() {
        out.append(first)
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}
