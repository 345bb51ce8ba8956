import Cryptography
import Encodings
import Testing

@Suite("JWS")
struct JWSTests {
  private func token(header: String, payload: String = "{}", signature: [UInt8] = [1]) -> String {
    [Array(header.utf8), Array(payload.utf8), signature].map { Base64.encodeURL($0) }.joined(separator: ".")
  }

  @Test("a token comes apart into what was put together")
  func parsing() throws {
    let text = token(
      header: #"{"kid":"a","alg":"ES256","typ":"JWT","jku":"https://x"}"#, payload: #"{"sub":"b"}"#)
    let parsed = try JWS.Compact(parsing: text)
    #expect(parsed.header.algorithm == "ES256" && parsed.header.kid == "a" && parsed.header.type == "JWT")
    #expect(try parsed.claims["sub"]?.string == "b")
    #expect(parsed.signature == [1])
    #expect(String(decoding: parsed.signingInput, as: UTF8.self) == text.dropLast(3))
  }

  @Test("only three parts in the one spelling of base64url are a token")
  func serialization() throws {
    let good = token(header: #"{"alg":"RS256"}"#, payload: #"{"a":"?>"}"#, signature: [0xFB, 0xFF])
    _ = try JWS.Compact(parsing: good)
    let parts = good.split(separator: ".").map(String.init)
    let bad = [
      "", ".", "..", "...", good + ".", "." + good, good + "." + parts[2], parts[0] + "." + parts[1],
      good + "=", good + "\n", " " + good, good.replacingFirst("_", "/"),
      parts[0] + "." + parts[1] + "=." + parts[2], parts[0] + "." + parts[1] + "." + "-_9",
      parts[0] + ".é." + parts[2], parts[0] + "=." + parts[1] + "." + parts[2],
    ]
    for text in bad {
      #expect(throws: JOSEError.self, "\(text)") { try JWS.Compact(parsing: text) }
    }
    #expect(throws: JOSEError.tooLarge) { try JWS.Compact(parsing: good, maximumLength: good.utf8.count - 1) }
    for cut in 0..<good.utf8.count {
      let short = String(good.prefix(cut))
      if let parsed = try? JWS.Compact(parsing: short) {
        #expect(parsed.signature != [0xFB, 0xFF], "cut at \(cut)")
      }
    }
  }

  @Test("headers with equal names, an extension, or members of another type are refused")
  func headers() {
    let bad: [(String, JOSEError)] = [
      ("", .header), ("[]", .header), ("null", .header), ("{}", .header), (#"{"alg":1}"#, .header),
      (#"{"alg":"ES256","alg":"none"}"#, .header), (#"{"alg":"ES256","\u0061lg":"none"}"#, .header),
      (#"{"alg":"ES256","kid":1}"#, .header), (#"{"alg":"ES256","kid":null}"#, .header),
      (#"{"alg":"ES256","typ":[]}"#, .header), (#"{"alg":"ES256"} x"#, .header),
      (#"{"alg":"ES256","crit":["exp"]}"#, .critical), (#"{"alg":"ES256","crit":null}"#, .critical),
      (#"{"alg":"ES256","crit":[],"b64":false}"#, .critical),
      (#"{"alg":"ES256","kid":"\#(String(repeating: "k", count: 257))"}"#, .header),
      (#"{"alg":"ES256","x":"\#(String(repeating: "k", count: 2_048))"}"#, .tooLarge),
    ]
    for (header, error) in bad {
      #expect(throws: error, "\(header)") { try JWS.Compact(parsing: token(header: header)) }
    }
  }

  @Test("claims are one JSON object without equal names")
  func claims() throws {
    for payload in ["", "[]", "1", #"{"a":1,"a":1}"#, "{}{}", #"{"a":"\#u{FF}"#] {
      let parsed = try JWS.Compact(parsing: token(header: #"{"alg":"ES256"}"#, payload: payload))
      #expect(throws: JOSEError.payload, "\(payload)") { try parsed.claims }
    }
  }
}

extension String {
  fileprivate func replacingFirst(_ character: Character, _ other: Character) -> String {
    var done = false
    return String(
      map { each in
        if each == character, !done {
          done = true
          return other
        }
        return each
      })
  }
}
