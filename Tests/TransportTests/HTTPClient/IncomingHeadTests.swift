import HTTPMessages
import Testing

@testable import Transport

@Suite("The head of a response")
struct IncomingHeadTests {
  private static func read(_ lines: [String], limit: Int = 1_000) -> (IncomingHead, IncomingHead.Step) {
    var head = IncomingHead(limit: limit)
    var step = IncomingHead.Step.more
    for line in lines {
      step = head.read(Array(line.utf8))
      if step != .more { break }
    }
    return (head, step)
  }

  @Test("fields that cannot be passed on are left out, the rest kept in order")
  func oddLines() {
    let (head, step) = Self.read([
      "HTTP/1.1 200\r\n", "A: 1\r\n", "no colon\r\n", ": nameless\r\n", "B C: blank\r\n", "D: x\u{1}y\r\n",
      "E:\t padded \t\r\n", "A: 2\n", "\r\n",
    ])
    #expect(step == .complete)
    #expect(head.fields.lines.map { "\($0.name)=\($0.value)" } == ["A=1", "E=padded", "A=2"])
  }

  @Test("a length is believed only when there is one, in digits, without a coding")
  func lengths() {
    func length(_ lines: String...) -> Int? {
      Self.read(["HTTP/1.1 200 OK\r\n"] + lines.map { $0 + "\r\n" } + ["\r\n"]).0.length
    }
    #expect(length("Content-Length: 12") == 12)
    #expect(length("Content-Length: 12", "content-length: 12") == 12)
    #expect(length("Content-Length: 12", "Content-Length: 13") == nil)
    #expect(length("Content-Length: +12") == nil)
    #expect(length("Content-Length: ") == nil)
    #expect(length("Content-Length: 99999999999999999999") == nil)
    #expect(length("Content-Length: 12", "Transfer-Encoding: chunked") == nil)
  }

  @Test(
    "status lines that are none",
    arguments: [
      "HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2000 x\r\n", "HTTP/1.1 +20 x\r\n", "HTTP/1.1 099 x\r\n",
      "HTTP/1.1 101 x\r\n", "HTTP/2 200\r\n", "HTTP/1.1  200\r\n", "A: b\r\n", "\r\n", " folded\r\n", "",
    ])
  func statusLines(line: String) {
    #expect(Self.read([line]).1 == .invalid)
  }

  @Test("the limit counts every line, also of interim responses")
  func limit() {
    let interim = Array(repeating: ["HTTP/1.1 100 C\r\n", "\r\n"], count: 20).flatMap(\.self)
    #expect(Self.read(interim, limit: 100).1 == .invalid)
    #expect(Self.read(["HTTP/1.1 200 OK\r\n", "\r\n"], limit: 19).1 == .complete)
    #expect(Self.read(["HTTP/1.1 200 OK\r\n", "\r\n"], limit: 18).1 == .invalid)
  }
}
