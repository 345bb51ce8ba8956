import HTTPMessages
import Testing

@Suite("Messages")
struct MessageTests {
  @Test("Field names are one whatever their ASCII case, and nothing else is folded")
  func names() {
    #expect(HTTPFields.same("Content-Type", "cONTENT-tYPE"))
    #expect(HTTPFields.same("", ""))
    for (left, right) in [
      ("a", "ab"), ("@", "`"), ("[", "{"), ("a-b", "a\rb"), ("K", "\u{212A}"), ("é", "É"), ("0", "P"),
      ("\u{0}", " "),
    ] {
      #expect(!HTTPFields.same(left, right))
      #expect(!HTTPFields.same(right, left))
    }
  }

  @Test("Fields keep their order and repetitions; setting leaves one line")
  func fields() {
    var fields: HTTPFields = ["A": "1", "b": "2", "a": "3"]
    #expect(fields["a"] == "1")
    #expect(fields.values("A") == ["1", "3"])
    fields["a"] = "4"
    #expect(fields.lines.map(\.value) == ["4", "2"])
    fields["c"] = "5"
    fields["B"] = nil
    #expect(fields.lines.map(\.name) == ["A", "c"])
    fields["c"] = nil
    fields["zzz"] = nil
    #expect(fields.values("c").isEmpty)
  }

  @Test("Path and query are divided at the first question mark, by octets")
  func targets() {
    for (target, path, query) in [
      ("/a", "/a", nil), ("/a?", "/a", ""), ("/a?b?c", "/a", "b?c"), ("?", "", ""), ("", "", nil),
      ("/a?\u{301}x", "/a", "\u{301}x"), ("/a%3fb", "/a%3fb", nil),
    ] as [(String, String, String?)] {
      let request = HTTPRequest(method: .get, target: target)
      #expect(request.path.utf8.elementsEqual(path.utf8))
      #expect(request.query.map { Array($0.utf8) } == query.map { Array($0.utf8) })
    }
  }

  @Test("Methods are compared by octets")
  func methods() {
    #expect(HTTPMethod(rawValue: "POST") == .post)
    #expect(HTTPMethod(rawValue: "post") != .post)
  }

  /// A stream of given chunks that counts what is asked of it.
  private actor Chunks: HTTPBodyStream {
    private var chunks: [[UInt8]]
    private(set) var pulls = 0

    init(_ chunks: [[UInt8]]) { self.chunks = chunks }

    func next() async throws -> [UInt8]? {
      pulls += 1
      return chunks.isEmpty ? nil : chunks.removeFirst()
    }

    nonisolated func cancel() {}
  }

  @Test("A body is collected up to its limit and not one octet more")
  func collect() async throws {
    #expect(try await HTTPBody("abc").collect(upTo: 3) == Array("abc".utf8))
    await #expect(throws: HTTPBodyError.tooLarge(limit: 2)) { try await HTTPBody("abc").collect(upTo: 2) }
    let fits = HTTPBody(stream: Chunks([[1, 2], [3], [4, 5]]))
    #expect(try await fits.collect(upTo: 5) == [1, 2, 3, 4, 5])
    let long = HTTPBody(stream: Chunks([[1, 2], [3], [4, 5]]))
    await #expect(throws: HTTPBodyError.tooLarge(limit: 4)) { try await long.collect(upTo: 4) }
    let announced = Chunks([[1]])
    await #expect(throws: HTTPBodyError.tooLarge(limit: 10)) {
      try await HTTPBody(stream: announced, length: 11).collect(upTo: 10)
    }
    #expect(await announced.pulls == 0)
    #expect(try await HTTPBody.empty.collect(upTo: 0) == [])
  }
}
