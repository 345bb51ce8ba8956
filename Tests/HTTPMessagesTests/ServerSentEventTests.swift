import HTTPMessages
import Testing

@Suite("Server-sent events")
struct ServerSentEventTests {
  private static func read(_ text: String, pieces: Int = .max, limit: Int = 1 << 20) -> [ServerSentEvent] {
    var reader = ServerSentEventReader(limit: limit)
    let bytes = Array(text.utf8)
    var events: [ServerSentEvent] = []
    var position = 0
    while position < bytes.count {
      let end = pieces >= bytes.count - position ? bytes.count : position + pieces
      events += reader.read(Array(bytes[position..<end]))
      position = end
    }
    return events
  }

  @Test(
    "WHATWG HTML §9.2.6, case by case, for every cut",
    arguments: [
      ("data: a\n\n", [ServerSentEvent(data: "a")]),
      ("data:a\n\ndata:  b\n\n", [ServerSentEvent(data: "a"), ServerSentEvent(data: " b")]),
      ("event: x\ndata: 1\ndata: 2\n\n", [ServerSentEvent(event: "x", data: "1\n2")]),
      ("data\n\n", [ServerSentEvent(data: "")]),
      ("data\ndata\n\n", [ServerSentEvent(data: "\n")]),
      ("event: x\n\ndata: a\n\n", [ServerSentEvent(data: "a")]),
      (": comment\n:\nid: 1\nretry: 5\nfoo: bar\ndata: a\n\n", [ServerSentEvent(data: "a")]),
      (
        "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
        [ServerSentEvent(data: "a"), ServerSentEvent(data: "b"), ServerSentEvent(data: "c")]
      ),
      ("\u{FEFF}data: a\n\n", [ServerSentEvent(data: "a")]),
      ("\u{FEFF}\u{FEFF}data: a\n\n", []),
      ("data: a\n\n\u{FEFF}data: b\n\n", [ServerSentEvent(data: "a")]),
      ("data: a\n", []),
      ("data: a", []),
      (" data: a\n\n", []),
      ("DATA: a\n\n", []),
      ("data : a\n\n", []),
      ("event: a\nevent: b\ndata: c\n\n", [ServerSentEvent(event: "b", data: "c")]),
      ("data: 🕐é\n\n", [ServerSentEvent(data: "🕐é")]),
      ("data: a:b: c\n\n", [ServerSentEvent(data: "a:b: c")]),
      ("\n\n\n", []),
    ] as [(String, [ServerSentEvent])])
  func cases(_ text: String, _ events: [ServerSentEvent]) {
    for pieces in 1...max(1, text.utf8.count) { #expect(Self.read(text, pieces: pieces) == events) }
  }

  @Test("An event ended by CR is there at once, before whatever follows")
  func carriageReturn() {
    var reader = ServerSentEventReader()
    #expect(reader.read(Array("data: a\r\r".utf8)) == [ServerSentEvent(data: "a")])
    #expect(reader.read(Array("\ndata: b\r\n\r".utf8)) == [ServerSentEvent(data: "b")])
    #expect(reader.read(Array("\n".utf8)) == [])
  }

  @Test("An event beyond the limit is dropped and counted; those around it are not")
  func limit() {
    for long in [
      "data: \(String(repeating: "x", count: 100))", String(repeating: "data: 12345678\n", count: 20),
      String(repeating: ":", count: 100) + "\ndata: z",
    ] {
      var reader = ServerSentEventReader(limit: 64)
      let events = reader.read(Array("data: a\n\n\(long)\n\ndata: b\n\n".utf8))
      #expect(events == [ServerSentEvent(data: "a"), ServerSentEvent(data: "b")])
      #expect(reader.dropped == 1)
    }
  }

  @Test("A line without end does not fill the memory, and does not become an event")
  func endless() {
    var reader = ServerSentEventReader(limit: 1_000)
    for _ in 0..<1_000 { #expect(reader.read([UInt8](repeating: 0x61, count: 1_000)).isEmpty) }
    #expect(reader.pending > 1_000)
    #expect(reader.read(Array("\n\ndata: a\n\n".utf8)) == [ServerSentEvent(data: "a")])
    #expect(reader.pending == 0)
    _ = reader.read(Array("data: ab\ndata: c".utf8))
    #expect(reader.pending == 9)
  }

  @Test("What is written is read again; no line end in it can forge a field")
  func roundTrip() {
    for (event, data, expected) in [
      (nil, "a", "a"), ("x", "", ""), ("x", "a\nb", "a\nb"), ("x", "a\r\nb", "a\nb"),
      ("x", "a\rb\n\rc", "a\nb\n\nc"),
      ("x", "\n", "\n"), ("x", "event: y\n\ndata: z", "event: y\n\ndata: z"),
    ] as [(String?, String, String)] {
      let bytes = ServerSentEvent(event: event, data: data).bytes
      #expect(
        Self.read(String(decoding: bytes, as: UTF8.self)) == [ServerSentEvent(event: event, data: expected)])
    }
    let forged = ServerSentEvent(event: "a\r\ndata: evil\n\n", data: "good").bytes
    #expect(Self.read(String(decoding: forged, as: UTF8.self)).map(\.data) == ["good"])
  }

  @Test("Any octets in any pieces are read without a trap, and cuts do not matter")
  func anyOctets() {
    var state: UInt64 = 5
    func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33
    }
    let alphabet = Array("data: event\n\r\r\n\u{FEFF}x".utf8) + [0x0A, 0x0D, 0xFF, 0xC3, 0x00]
    for _ in 0..<500 {
      let bytes = (0..<200).map { _ in alphabet[Int(next()) % alphabet.count] }
      var whole = ServerSentEventReader(limit: 50)
      var parts = ServerSentEventReader(limit: 50)
      let expected = whole.read(bytes)
      #expect(bytes.flatMap { parts.read([$0]) } == expected)
      #expect(whole.dropped == parts.dropped)
    }
  }
}
