import Gateway
import Testing

@Suite("Usage in Anthropic's answers")
struct MeterTests {
  private static func read(
    _ bytes: [UInt8], streamed: Bool = true, pieces: Int = .max,
    body: String = Example.body(#","stream":true"#),
    _ change: (inout AnthropicPolicy) -> Void = { _ in }
  ) throws -> MeterReading {
    let provider = Example.anthropic(change)
    var meter = provider.meter(for: try provider.prepare(Example.request(body)), streamed: streamed)
    var position = 0
    while position < bytes.count {
      let end = min(bytes.count, position + min(pieces, bytes.count))
      meter.read(Array(bytes[position..<end]))
      position = end
    }
    return meter.reading
  }

  private static let plain = StreamText().start().block().say("Hello").say(", world")
    .delta(#""output_tokens":12"#).stop()

  @Test("A plain stream: input from its first event, output from its last, however it is cut")
  func plain() throws {
    for pieces in [Int.max, 1, 2, 3, 7, 64] {
      let reading = try Self.read(Self.plain.bytes, pieces: pieces)
      #expect(reading.completeness == .final)
      #expect(reading.usage == TokenUsage(input: 10, output: 12))
      #expect(reading.visibleOctets == 12)
      #expect(reading.visibleOnly)
    }
  }

  @Test("CRLF, CR, a byte order mark, comments, pings and unknown events change nothing")
  func spellings() throws {
    for newline in ["\r\n", "\r", "\n"] {
      let stream = StreamText(newline: newline).event("ping").start().block().event(
        "brand_new", #""usage":{"output_tokens":9999}"#
      )
      .say("Hi").event("ping").delta(#""output_tokens":7"#).stop()
      let bytes = [0xEF, 0xBB, 0xBF] + Array(": comment\(newline)\(newline)".utf8) + stream.bytes
      for pieces in [1, 5, Int.max] {
        let reading = try Self.read(bytes, pieces: pieces)
        #expect(reading.usage == TokenUsage(input: 10, output: 7))
        #expect(reading.completeness == .final)
      }
    }
  }

  @Test("Cumulative figures replace and are never added; a lower one is not believed")
  func cumulative() throws {
    let stream = StreamText().start(#""input_tokens":25,"output_tokens":1"#).block().say("a")
      .delta(#""output_tokens":40"#, stop: nil).delta(#""output_tokens":90"#, stop: nil)
      .delta(#""output_tokens":90,"input_tokens":25"#).delta(#""output_tokens":3,"input_tokens":0"#).stop()
    #expect(try Self.read(stream.bytes).usage == TokenUsage(input: 25, output: 90))
  }

  @Test("Cached tokens are counted once, by class")
  func cached() throws {
    let stream = StreamText().start(
      #""input_tokens":5,"cache_read_input_tokens":1000,"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1"#
    ).block().delta(#""output_tokens":2,"cache_read_input_tokens":1000,"cache_creation_input_tokens":300"#)
      .stop()
    #expect(
      try Self.read(stream.bytes).usage
        == TokenUsage(input: 5, cacheRead: 1000, cacheWrite5m: 100, cacheWrite1h: 200, output: 2))
  }

  @Test("Cache writes whose life is not told count at the dearer one that was asked for")
  func unsplit() throws {
    let stream = StreamText().start(#""input_tokens":5,"cache_creation_input_tokens":300,"output_tokens":1"#)
      .delta(#""output_tokens":2"#).stop()
    #expect(try Self.read(stream.bytes).usage.cacheWrite5m == 300)
    let long = Example.body(#","stream":true,"cache_control":{"type":"ephemeral","ttl":"1h"}"#)
    #expect(try Self.read(stream.bytes, body: long) { $0.allowsLongCache = true }.usage.cacheWrite1h == 300)
  }

  @Test("Tools that Anthropic runs raise input and uses in the last event")
  func serverTools() throws {
    let stream = StreamText().start().block("server_tool_use").delta(
      #""input_tokens":9000,"output_tokens":50,"server_tool_use":{"web_search_requests":2}"#
    ).stop()
    let reading = try Self.read(stream.bytes)
    #expect(reading.usage == TokenUsage(input: 9000, output: 50, toolUses: ["web_search_requests": 2]))
    #expect(!reading.visibleOnly)
  }

  @Test("Thinking and tool use are not visible text")
  func hidden() throws {
    for block in ["thinking", "redacted_thinking", "tool_use", "something_new"] {
      #expect(try !Self.read(StreamText().start().block(block).bytes).visibleOnly)
    }
    for delta in ["thinking_delta", "input_json_delta", "signature_delta", "new_delta"] {
      #expect(try !Self.read(StreamText().start().block().say("x", delta: delta).bytes).visibleOnly)
    }
  }

  @Test("An event that cannot be read, or is unknown, may hide output")
  func unknown() throws {
    #expect(try Self.read(StreamText().start().block().event("ping").bytes).visibleOnly)
    #expect(try !Self.read(StreamText().start().block().event("new_output").bytes).visibleOnly)
    #expect(try !Self.read(StreamText().start().bytes + Array("data: {broken\n\n".utf8)).visibleOnly)
  }

  @Test("A stream cut at any octet is never final before its last figures, and loses nothing it told")
  func truncated() throws {
    let bytes = Self.plain.bytes
    let whole = Self.plain.text
    let startEnd = try #require(whole.firstRange(of: "event: content_block_start")).lowerBound.utf16Offset(
      in: whole)
    let finalStart = try #require(whole.firstRange(of: "event: message_delta")).lowerBound.utf16Offset(
      in: whole)
    for length in 0...bytes.count {
      let reading = try Self.read(Array(bytes.prefix(length)))
      if length < finalStart { #expect(reading.completeness != .final) }
      if length >= startEnd {
        #expect(reading.usage.input == 10)
      } else {
        #expect(reading.completeness == .nothing || length + 1 >= startEnd)
      }
    }
  }

  @Test("An error after 200, and a message_delta without stop, are not final")
  func errors() throws {
    let failed = StreamText().start().block().say("Hi").event(
      "error", #""error":{"type":"overloaded_error","message":"Overloaded"}"#)
    #expect(try Self.read(failed.bytes).completeness == .input)
    let open = StreamText().start().block().delta(#""output_tokens":5"#, stop: nil)
    #expect(try Self.read(open.bytes).completeness == .input)
    #expect(try Self.read(StreamText().delta(#""output_tokens":5"#).stop().bytes).completeness == .nothing)
  }

  @Test(
    "Figures that cannot be believed make the usage unreadable",
    arguments: ["-1", "1.5", "\"7\"", "[]", "true", "1e9", "99999999999999999999", "1000000001"])
  func unbelievable(_ figure: String) throws {
    let stream = StreamText().start().block().delta(#""output_tokens":\#(figure)"#).stop()
    #expect(try Self.read(stream.bytes).completeness == .nothing)
    let body = #"{"usage":{"input_tokens":\#(figure),"output_tokens":1}}"#
    #expect(try Self.read(Array(body.utf8), streamed: false).completeness == .nothing)
  }

  @Test("Events that are no JSON, or too long, pass; a dropped one ends the trust in what is visible")
  func oddEvents() throws {
    let odd = Array("data: {nonsense\n\ndata: [1]\n\ndata\n\nevent: x\n\n".utf8)
    let reading = try Self.read(odd + Self.plain.bytes)
    #expect(reading.completeness == .final)
    let long = Array("data: \(String(repeating: "x", count: 2 << 20))\n\n".utf8)
    #expect(try !Self.read(StreamText().start().bytes + long).visibleOnly)
  }

  @Test("A whole answer has its usage once it is complete")
  func wholeAnswer() throws {
    let body = Array(
      #"{"type":"message","content":[{"usage":{"input_tokens":1}}],"usage":{"input_tokens":3,"output_tokens":4}}"#
        .utf8)
    #expect(try Self.read(body, streamed: false, pieces: 1).usage == TokenUsage(input: 3, output: 4))
    for length in 0..<body.count {
      #expect(try Self.read(Array(body.prefix(length)), streamed: false).completeness == .nothing)
    }
  }
}
