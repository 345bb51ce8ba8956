import Gateway
import Testing

@Suite("Usage in OpenAI's answers")
struct OpenAIMeterTests {
  private static func read(_ bytes: [UInt8], streamed: Bool = true, pieces: Int = .max) throws -> MeterReading
  {
    let provider = Chat.provider()
    var meter = provider.meter(for: try Chat.prepare(Chat.body(#","stream":true"#)), streamed: streamed)
    var position = 0
    while position < bytes.count {
      let end = min(bytes.count, position + min(pieces, bytes.count))
      meter.read(Array(bytes[position..<end]))
      position = end
    }
    return meter.reading
  }

  private static let usage = #""prompt_tokens":10,"completion_tokens":12,"total_tokens":22"#

  @Test("Golden: a plain stream, its usage in a chunk without choices, however it is cut and ended")
  func plain() throws {
    for newline in ["\n", "\r\n", "\r"] {
      let stream = ChatStream(newline: newline).delta(#""role":"assistant","content":"""#).say("Hello, world")
        .delta("", finish: "stop").usage(Self.usage).done()
      for pieces in [Int.max, 1, 2, 3, 7, 64] {
        let reading = try Self.read(stream.bytes, pieces: pieces)
        #expect(reading.completeness == .final && reading.usage == TokenUsage(input: 10, output: 12))
        #expect(reading.visibleOctets == 12 && reading.visibleOnly)
      }
    }
  }

  @Test("Golden: cached and written tokens are parts of the prompt's, reasoning is part of the completion's")
  func parts() throws {
    let stream = ChatStream.answer.usage(
      #""prompt_tokens":2006,"completion_tokens":300,"prompt_tokens_details":{"cached_tokens":1920,"cache_write_tokens":80,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":256}"#
    ).done()
    let usage = try Self.read(stream.bytes).usage
    #expect(usage == TokenUsage(input: 6, cacheRead: 1_920, cacheWrite5m: 80, output: 300))
    #expect(usage.allInput == 2_006)
  }

  @Test("Golden: figures that grow with every chunk replace each other and are never added")
  func cumulative() throws {
    var stream = ChatStream()
    for count in 1...5 {
      stream = stream.delta(
        #""content":"x""#, usage: #"{"prompt_tokens":7,"completion_tokens":\#(count)}"#)
    }
    let running = try Self.read(stream.bytes)
    #expect(running.completeness == .input && running.usage == TokenUsage(input: 7, output: 5))
    let ended = try Self.read(stream.usage(#""prompt_tokens":7,"completion_tokens":5"#).done().bytes)
    #expect(ended.completeness == .final && ended.usage == TokenUsage(input: 7, output: 5))
    let done = try Self.read(stream.done().bytes)
    #expect(done.completeness == .final && done.usage == TokenUsage(input: 7, output: 5))
  }

  @Test("Golden: a tool's call is counted by the usage alone, for not all of it is visible text")
  func tool() throws {
    let stream = ChatStream().delta(
      #""tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]"#
    ).delta(#""tool_calls":[{"index":0,"function":{"arguments":"{}"}}]"#).delta("", finish: "tool_calls")
    let broken = try Self.read(stream.bytes)
    #expect(!broken.visibleOnly && broken.completeness == .begun)
    #expect(try Self.read(stream.usage(Self.usage).done().bytes).usage == TokenUsage(input: 10, output: 12))
  }

  @Test("Golden: aborted and without usage, what was seen is known and no more")
  func aborted() throws {
    let reading = try Self.read(ChatStream.opening.bytes)
    #expect(reading.completeness == .begun && reading.visibleOctets == 5 && reading.visibleOnly)
    #expect(try Self.read(ChatStream.answer.done().bytes).completeness == .begun)
    #expect(try Self.read([]).completeness == .nothing)
    #expect(try Self.read(Array("data: {\"error\":{\"message\":\"x\"}}\n\n".utf8)).completeness == .nothing)
    let within = try Self.read(
      ChatStream.opening.bytes + Array(#"data: {"choices":[{"delta":{"content":"secret"#.utf8))
    #expect(within.visibleOctets > 5 + 6)
  }

  @Test("What hides output is no visible stream")
  func hidden() throws {
    for delta in [#""reasoning_content":"hm""#, #""audio":{"data":""}"#, #""content":["x"]"#, #""new":1"#] {
      #expect(try !Self.read(ChatStream.opening.delta(delta).bytes).visibleOnly, "\(delta)")
    }
    for data in ["no json", "[1]", #"{"choices":{}}"#, #"{"type":"other"}"#] {
      #expect(try !Self.read(ChatStream.opening.data(data).bytes).visibleOnly, "\(data)")
    }
  }

  @Test(
    "Figures that cannot be true are not believed",
    arguments: [
      #""prompt_tokens":-1,"completion_tokens":1"#, #""prompt_tokens":1.5,"completion_tokens":1"#,
      #""prompt_tokens":"1","completion_tokens":1"#, #""prompt_tokens":1,"completion_tokens":99999999999"#,
      #""prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":6}"#,
      #""prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":3}"#,
      #""prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":-3}"#,
      #""prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":[]"#, #""prompt_tokens":5"#,
      #""completion_tokens":5"#, "",
    ])
  func unbelievable(_ usage: String) throws {
    let reading = try Self.read(ChatStream.answer.usage(usage).done().bytes)
    #expect(reading.completeness < .input)
    #expect(try Self.read(Array(#"{"usage":{\#(usage)}}"#.utf8), streamed: false).completeness == .nothing)
  }

  @Test("A whole answer is read once it is whole")
  func body() throws {
    let text = #"{"choices":[{"message":{"content":"x"}}],"usage":{\#(Self.usage)}}"#
    let reading = try Self.read(Array(text.utf8), streamed: false, pieces: 3)
    #expect(reading.completeness == .final && reading.usage == TokenUsage(input: 10, output: 12))
    #expect(try Self.read(Array(text.utf8.dropLast()), streamed: false).completeness == .nothing)
    #expect(try Self.read(Array(#"{"choices":[]}"#.utf8), streamed: false).completeness == .nothing)
  }
}
