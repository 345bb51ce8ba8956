import HTTPMessages
import Testing

@testable import Transport

/// Octets that are not one request, or not surely one, and what is said to them.
enum Hygiene {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var octets: [UInt8]
    var refusal: HTTPRefusal
    var testDescription: String { name }

    init(_ name: String, _ octets: [UInt8], _ refusal: HTTPRefusal) {
      self.name = name
      self.octets = octets
      self.refusal = refusal
    }

    init(_ name: String, _ text: String, _ refusal: HTTPRefusal) {
      self.init(name, Array(text.utf8), refusal)
    }
  }

  static func get(_ target: String) -> String { "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n" }
  static func field(_ line: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n" }
  static func chunked(_ content: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(content)"
  }

  static let framing: [Case] = [
    Case("CL and TE", field("Content-Length: 5\r\nTransfer-Encoding: chunked"), .lengthAndCoding),
    Case("TE and CL", field("Transfer-Encoding: chunked\r\nContent-Length: 5"), .lengthAndCoding),
    Case("two differing lengths", field("Content-Length: 5\r\nContent-Length: 6"), .repeatedLength),
    Case("two equal lengths", field("Content-Length: 5\r\nContent-Length: 5"), .repeatedLength),
    Case("a list of lengths", field("Content-Length: 5, 5"), .malformedLength),
    Case("length with plus", field("Content-Length: +5"), .malformedLength),
    Case("length with minus", field("Content-Length: -5"), .malformedLength),
    Case("length with a blank inside", field("Content-Length: 5 5"), .malformedLength),
    Case("length in hexadecimal", field("Content-Length: 0x5"), .malformedLength),
    Case("length that is empty", field("Content-Length:"), .malformedLength),
    Case("length beyond 64 bits", field("Content-Length: 99999999999999999999"), .malformedLength),
    Case("TE gzip, chunked", field("Transfer-Encoding: gzip, chunked"), .unsupportedCoding),
    Case("TE chunked, identity", field("Transfer-Encoding: chunked, identity"), .unsupportedCoding),
    Case("TE identity", field("Transfer-Encoding: identity"), .unsupportedCoding),
    Case("TE with a vertical tab", field("Transfer-Encoding: \u{0B}chunked"), .controlCharacter),
    Case("TE that is empty", field("Transfer-Encoding:"), .unsupportedCoding),
    Case("TE twice", field("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), .repeatedCoding),
    Case(
      "TE in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      .codingInOldVersion),
    Case("an expectation of another kind", field("Expect: 200-ok"), .unknownExpectation),
  ]

  static let chunks: [Case] = [
    Case("chunk size 0x5", chunked("0x5\r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("chunk size 5g", chunked("5g\r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("chunk size +5", chunked("+5\r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("chunk size empty", chunked("\r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("blank before the chunk size", chunked(" 5\r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("blank after the chunk size", chunked("5 \r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("bare LF after the chunk size", chunked("5\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("bare CR after the chunk size", chunked("5\rhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("bare LF after the chunk", chunked("5\r\nhello\n0\r\n\r\n"), .malformedChunk),
    Case("chunk longer than its size", chunked("5\r\nhello!\r\n0\r\n\r\n"), .malformedChunk),
    Case("chunk size that overflows", chunked("FFFFFFFFFFFFFFFFF\r\n"), .chunkTooLarge),
    Case("chunk size of endless zeros", chunked("0000000000000000000000"), .chunkTooLarge),
    Case("LF in an extension", chunked("5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("CR in an extension", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n"), .malformedChunk),
    Case("endless extension", chunked("5;" + String(repeating: "a", count: 300)), .chunkTooLarge),
    Case("trailer without colon", chunked("0\r\nabc\r\n\r\n"), .malformedTrailer),
    Case("trailer that is folded", chunked("0\r\na: b\r\n c\r\n\r\n"), .malformedTrailer),
    Case("trailer ended by LF", chunked("0\r\na: b\n\r\n"), .malformedTrailer),
    Case("end with LF", chunked("0\r\n\n"), .malformedTrailer),
    Case(
      "endless trailers", chunked("0\r\n" + String(repeating: "a: b\r\n", count: 1_000)), .trailerTooLarge),
  ]

  static let lines: [Case] = [
    Case("bare LF in the request line", "GET / HTTP/1.1\nHost: a\n\n", .bareLineFeed),
    Case("bare LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed),
    Case("bare CR in a value", field("A: b\rc"), .bareCarriageReturn),
    Case("CR CR LF", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", .bareCarriageReturn),
    Case("NUL in a value", field("A: b\0c"), .controlCharacter),
    Case("NUL in a name", field("A\0: b"), .controlCharacter),
    Case("DEL in a value", field("A: b\u{7F}c"), .controlCharacter),
    Case("obs-fold", field("A: b\r\n c"), .foldedField),
    Case("obs-fold with a tab", field("A: b\r\n\tc"), .foldedField),
    Case("blank before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", .foldedField),
    Case("blank before the colon", field("A : b"), .malformedField),
    Case("tab before the colon", field("A\t: b"), .malformedField),
    Case("field without colon", field("AAAA"), .malformedField),
    Case("field without name", field(": b"), .malformedField),
    Case("field name with parenthesis", field("A(b): c"), .malformedField),
    Case("field name beyond ASCII", field("Ä: c"), .malformedField),
    Case(
      "value that is not UTF-8",
      Array("GET / HTTP/1.1\r\nHost: a\r\nA: ".utf8) + [0xC3, 0x28, 13, 10, 13, 10],
      .malformedField),
    Case("two Hosts", field("Host: a"), .repeatedHost),
    Case("no Host", "GET / HTTP/1.1\r\nA: b\r\n\r\n", .missingHost),
    Case("empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", .malformedHost),
    Case("Host with user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", .malformedHost),
    Case("Host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .malformedHost),
    Case("Host as a list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", .malformedHost),
    Case("Host with a port in words", "GET / HTTP/1.1\r\nHost: a:http\r\n\r\n", .malformedHost),
    Case("Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", .malformedHost),
    Case("two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
    Case("HTTP/0.9", "GET /\r\n\r\n", .malformedRequestLine),
    Case("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
    Case("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", .unsupportedVersion),
    Case("lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
    Case("version with more digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", .malformedRequestLine),
    Case("tab in the request line", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
    Case("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
    Case("method that is no token", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
    Case("TLS", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01], .controlCharacter),
  ]

  static let targets: [Case] =
    [
      "http://a/", "a:443", "//a/../b", "x", "*", "/..", "/../a", "/a/..", "/a/../b", "/a/./b", "/.", "/a/.",
      "/a/..?b", "/./", "/a%2fb", "/a%2Fb", "/a%5cb", "/a%5Cb", "/a%00b", "/%2e%2e/b", "/%2E/b", "/.%2e/b",
      "/a?b=%00", "/a%", "/a%2", "/a%zz", "/a%2", "/a?b=%g0", "/a#b", "/a?b#c", "/a\\b", "/a?b=\\", "/ä",
      "/a?ä", "/a\"b", "/a<b", "/a?b=\"", "/a|b", "/ a", "/a b", "?a",
    ].map { Case("target \($0)", get($0), .malformedTarget) } + [
      Case("CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", .malformedTarget),
      Case("two blanks in the request line", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
      Case("no target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
    ]

  static let sizes: [Case] = [
    Case("value over the limit", field("A: " + String(repeating: "b", count: 16_384)), .headTooLarge),
    Case("target over the limit", get("/" + String(repeating: "b", count: 16_384)), .headTooLarge),
    Case("endless line", String(repeating: "G", count: 20_000), .headTooLarge),
    Case("too many fields", field(String(repeating: "A:b\r\n", count: 200)), .tooManyFields),
  ]

  static let all = framing + chunks + lines + targets + sizes
}

@Suite("Request parser: what it refuses")
struct ParserHygieneTests {
  @Test("is refused for its reason, and nothing after it is read", arguments: Hygiene.all)
  func refuses(_ hygiene: Hygiene.Case) {
    let smuggled = Array("GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    let events = HTTPRequestParser.events(of: hygiene.octets + smuggled)
    #expect(events.last == .refused(hygiene.refusal))
    for case .head(let head) in events { #expect(head.target != "/smuggled") }
  }

  @Test("every refusal is provoked by a case, and says something")
  func complete() {
    let provoked = Hygiene.all.map(\.refusal)
    for refusal in HTTPRefusal.allCases {
      #expect(provoked.contains(refusal), "\(refusal)")
      #expect([400, 417, 431, 501, 505].contains(refusal.status))
      #expect(!refusal.reason.isEmpty)
    }
  }

  @Test("the verdict does not depend on the cuts", arguments: Hygiene.all)
  func cuts(_ hygiene: Hygiene.Case) {
    let whole = HTTPRequestParser.events(of: hygiene.octets)
    #expect(HTTPRequestParser.events(of: hygiene.octets, cutAt: Array(hygiene.octets.indices)) == whole)
    // Every single cut where that is cheap, some where it is not.
    for cut in stride(from: 1, to: hygiene.octets.count, by: max(1, hygiene.octets.count / 200)) {
      #expect(HTTPRequestParser.events(of: hygiene.octets, cutAt: [cut]) == whole)
    }
  }
}
