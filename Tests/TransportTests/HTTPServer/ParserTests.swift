import HTTPMessages
import Testing

@testable import Transport

@Suite("Request parser: what it takes")
struct ParserTests {
  private func events(_ text: String) -> [HTTPRequestParser.Event] {
    HTTPRequestParser.events(of: Array(text.utf8))
  }

  private func head(_ text: String) -> HTTPRequestHead? {
    guard case .head(let head) = events(text).first else { return nil }
    return head
  }

  @Test("a request with content of a known length")
  func length() {
    let events = events(
      "POST /a/b?c=d HTTP/1.1\r\nHost: example.org:8080\r\nContent-Length: 5\r\nX:\t y \r\n\r\nhello")
    guard case .head(let head) = events.first else { return #expect(Bool(false)) }
    #expect(head.method == .post)
    #expect(head.target == "/a/b?c=d")
    #expect(head.authority == "example.org:8080")
    #expect(head.framing == .length(5))
    #expect(head.keepsAlive)
    #expect(head.fields["x"] == "y")
    #expect(head.fields.lines.map(\.name) == ["Host", "Content-Length", "X"])
    #expect(events.dropFirst() == [.content(Array("hello".utf8)), .end])
  }

  @Test("chunks, extensions and trailers")
  func chunked() {
    let content = "5;a=b;c=\"d;e\"\r\nhello\r\n00A ;x\r\n, world!!!\r\n0;z\r\nTrailer: x\r\nB:\r\n\r\n"
    let events = events(Hygiene.chunked(content) + Hygiene.get("/next"))
    #expect(events.count == 5)
    #expect(events.dropFirst().prefix(2) == [.content(Array("hello, world!!!".utf8)), .end])
    guard case .head(let next) = events[3] else { return #expect(Bool(false)) }
    #expect(next.target == "/next")
    #expect(next.fields["Trailer"] == nil)
  }

  @Test("pipelined requests come one after the other, each with a fresh head")
  func pipelined() {
    let events = events(
      "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab\r\n"
        + "GET /2 HTTP/1.1\r\nHost: b\r\n\r\n")
    guard case .head(let first) = events[0], case .head(let second) = events[3] else {
      return #expect(Bool(false))
    }
    #expect(!first.keepsAlive)
    #expect(second.keepsAlive)
    #expect(second.framing == .none)
    #expect(second.fields.lines.count == 1)
    #expect(events[4] == .end)
  }

  @Test(
    "plain targets",
    arguments: [
      "/", "/a", "/a//b", "/...", "/.a", "/a.", "/a..b/c", "/..a", "/.well-known/x", "/a%20b", "/a:b@c;d=e",
      "/a?b=../..", "/a?redirect=https%3A%2F%2Fexample.org%2F", "/a?b[]=1&c={d}|e^f`g", "/?", "/a?b?c",
      "/~a!$&'()*+,;=",
    ])
  func targets(_ target: String) { #expect(head(Hygiene.get(target))?.target == target) }

  @Test("OPTIONS takes the asterisk")
  func asterisk() { #expect(head("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")?.target == "*") }

  @Test(
    "hosts",
    arguments: ["a", "a.example", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8080", "a_b", "xn--a:65535"])
  func hosts(_ host: String) {
    #expect(head("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")?.authority == host)
  }

  @Test("HTTP/1.0 needs no Host and ends the connection")
  func old() {
    let head = head("GET / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n")
    #expect(head?.isOldVersion == true)
    #expect(head?.keepsAlive == false)
    #expect(head?.expectsContinue == false)
  }

  @Test("connection options and expectations in any case")
  func options() {
    #expect(head(Hygiene.field("connection: foo , CLOSE,bar"))?.keepsAlive == false)
    #expect(head(Hygiene.field("Connection: closed"))?.keepsAlive == true)
    #expect(head(Hygiene.field("EXPECT: 100-Continue\r\nContent-Length: 1"))?.expectsContinue == true)
    #expect(head(Hygiene.field("Expect: 100-continue"))?.expectsContinue == false)
    #expect(head(Hygiene.field("TRANSFER-ENCODING: Chunked"))?.framing == .chunked)
  }

  @Test("a value in UTF-8 and a value that is empty")
  func values() {
    let head = head(Hygiene.field("A: \u{fc}\u{1F600}\r\nB:\r\nC:   "))
    #expect(head?.fields["a"] == "\u{fc}\u{1F600}")
    #expect(head?.fields["b"] == "")
    #expect(head?.fields["c"] == "")
  }

  @Test("a head of exactly the limit passes, one octet more does not")
  func limit() {
    let frame = Hygiene.field("A: ").utf8.count
    let fits = Hygiene.field("A: " + String(repeating: "b", count: 16_384 - frame))
    #expect(head(fits) != nil)
    let more = Hygiene.field("A: " + String(repeating: "b", count: 16_385 - frame))
    #expect(events(more) == [.refused(.headTooLarge)])
    #expect(events(fits + "POST / HTTP/1.1\r\nHost: a\r\n\r\n").count == 4)
  }

  @Test("any cuts give the same events")
  func cuts() {
    let text =
      "\r\nPOST /1?a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
      + Hygiene.chunked("2;e\r\nab\r\n3\r\ncde\r\n0\r\nT: u\r\n\r\n") + Hygiene.get("/3")
    let octets = Array(text.utf8)
    let whole = HTTPRequestParser.events(of: octets)
    #expect(whole.count == 8)
    for first in octets.indices {
      for second in stride(from: first, to: octets.count, by: 7) {
        #expect(HTTPRequestParser.events(of: octets, cutAt: [first, second]) == whole)
      }
    }
    #expect(HTTPRequestParser.events(of: octets, cutAt: Array(octets.indices)) == whole)
  }

  @Test("a request cut short gives no end")
  func truncated() {
    let octets = Array(Hygiene.chunked("2\r\nab\r\n0\r\n\r\n").utf8)
    for length in octets.indices {
      let events = HTTPRequestParser.events(of: Array(octets[..<length]))
      #expect(!events.contains(.end))
      if case .refused = events.last { #expect(Bool(false)) }
    }
  }

  @Test("octets at random never trap, however they are cut")
  func random() {
    var generator = SplitMix(state: 20_261_130)
    let words = [
      "GET ", "POST ", "/", "/a", " HTTP/1.1", "\r\n", "\n", "Host: a", "Content-Length: ", "5", "chunked",
      "Transfer-Encoding: ", "0\r\n\r\n", ":", " ", "\0", "%2", "..", ";", "FFFF", "\t", "[", "]", "\u{fc}",
    ]
    for _ in 0..<3_000 {
      var octets: [UInt8] = []
      for _ in 0..<Int.random(in: 1..<24, using: &generator) {
        if Bool.random(using: &generator) {
          octets += Array(words.randomElement(using: &generator)!.utf8)
        } else {
          octets.append(UInt8.random(in: 0...255, using: &generator))
        }
      }
      let cuts = (0..<3).map { _ in Int.random(in: 0...octets.count, using: &generator) }
      let whole = HTTPRequestParser.events(of: octets)
      #expect(HTTPRequestParser.events(of: octets, cutAt: cuts) == whole, "\(octets)")
    }
  }
}

/// Numbers that are the same in every run (SplitMix64).
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
