import AppleSimulator
import Encodings
import HTTPMessages
import Testing

@Suite("Instructions to the simulated Anthropic")
struct InstructionTests {
  let twin = Twin()

  @Test("an error before the answer bills nothing", arguments: [400, 401, 402, 403, 429, 500, 503, 529])
  func error(status: Int) async throws {
    let response = try await twin.ask("x [simulate: error \(status)] [simulate: retry-after 7]")
    #expect(response.status == status)
    #expect(response.fields["retry-after"] == "7")
    #expect(try await read(response)["error"]?["type"]?.string != nil)
    #expect(twin.anthropic.billing.inputTokens == 0)
    #expect(twin.anthropic.billing.refusals == 1)
  }

  @Test("an error after the 200 ends the stream with an error event")
  func lateError() async throws {
    let events = try await twin.events("x [simulate: error 529 after 2]")
    #expect(events.last?.name == "error")
    #expect(events.last?.data["error"]?["type"]?.string == "overloaded_error")
    #expect(events.compactMap(\.text).count == 2)
    #expect(twin.anthropic.billing.outputTokens == 2)
  }

  @Test("a dropped stream breaks, and what came is billed")
  func drop() async throws {
    let response = try await twin.ask("x [simulate: drop after 3]")
    await #expect(throws: HTTPBodyError.incomplete) { try await response.body.collect(upTo: 1 << 20) }
    #expect(twin.anthropic.billing.outputTokens == 3)
    #expect(twin.anthropic.billing.openStreams == 0)
    let whole = try await twin.ask("x [simulate: drop after 3]", stream: false)
    #expect(whole.body.length ?? 0 > 0)
    await #expect(throws: HTTPBodyError.incomplete) { try await whole.body.collect(upTo: 1 << 20) }
  }

  @Test("without usage neither event has any")
  func noUsage() async throws {
    let events = try await twin.events("x [simulate: no usage]")
    for event in events {
      #expect(event.data["usage"] == nil)
      #expect(event.data["message"]?["usage"] == nil)
    }
  }

  @Test("usage as told is reported and billed")
  func usage() async throws {
    let events = try await twin.events("x [simulate: usage 5000 900] [simulate: cache read 4000]")
    let start = events.first?.data["message"]?["usage"]
    #expect(start?["input_tokens"]?.integer == 1_000)
    #expect(start?["cache_read_input_tokens"]?.integer == 4_000)
    let end = events.first { $0.name == "message_delta" }?.data["usage"]
    #expect(end?["output_tokens"]?.integer == 900)
    #expect(twin.anthropic.billing.inputTokens == 5_000)
    #expect(twin.anthropic.billing.outputTokens == 900)
  }

  @Test("the key is echoed where asked for, in answers and in errors")
  func echo() async throws {
    let text = try await twin.events("x [simulate: echo key]").compactMap(\.text).joined()
    #expect(text.contains(Twin.key))
    let failure = try await read(try await twin.ask("x [simulate: echo key] [simulate: error 500]"))
    #expect(failure["error"]?["message"]?.string?.contains(Twin.key) == true)
    let plain = try await twin.events("x").compactMap(\.text).joined()
    #expect(!plain.contains(Twin.key))
  }

  @Test("a redirect leads elsewhere")
  func redirect() async throws {
    let response = try await twin.ask("x [simulate: redirect]")
    #expect(response.status == 307)
    #expect(response.fields["location"]?.hasPrefix("https://elsewhere.example/") == true)
  }

  @Test("an error page is no envelope")
  func page() async throws {
    let response = try await twin.ask("x [simulate: error 502] [simulate: page]")
    #expect(response.status == 502)
    #expect(response.fields["content-type"]?.hasPrefix("text/html") == true)
  }

  @Test("octet by octet the same events come")
  func bytes() async throws {
    let response = try await twin.ask("x [simulate: bytes 1] [simulate: tokens 5]")
    guard case .stream(let stream, _) = response.body.content else {
      Issue.record("no stream")
      return
    }
    var all: [UInt8] = []
    while let chunk = try await stream.next() {
      #expect(chunk.count == 1)
      all += chunk
    }
    #expect(try Twin.events(all).compactMap(\.text).count == 5)
    #expect(try await stream.next() == nil)
  }

  @Test("gzip holds the same octets in stored blocks")
  func gzip() async throws {
    let plain = try await twin.ask("x [simulate: tokens 3]").body.collect(upTo: 1 << 20)
    let response = try await twin.ask("x [simulate: tokens 3] [simulate: gzip]")
    #expect(response.fields["content-encoding"] == "gzip")
    let packed = try await response.body.collect(upTo: 1 << 20)
    #expect(packed.starts(with: [0x1F, 0x8B, 8]))
    var index = 10
    var unpacked: [UInt8] = []
    var final = false
    while !final, index + 5 <= packed.count {
      final = packed[index] == 1
      let count = Int(packed[index + 1]) | Int(packed[index + 2]) << 8
      #expect(packed[index + 3] == ~packed[index + 1])
      unpacked += packed[(index + 5)..<(index + 5 + count)]
      index += 5 + count
    }
    // The ids and the prompt's length in tokens differ between the two calls, nothing else.
    let names = try Twin.events(unpacked).map(\.name)
    #expect(names == (try Twin.events(plain).map(\.name)))
    let length = packed.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(length == unpacked.count)
  }

  @Test("a stalled stream ends when its reader is cancelled, and counts as aborted when dropped")
  func stall() async throws {
    let twin = twin
    try await withThrowingTaskGroup(of: Int.self) { group in
      group.addTask {
        let response = try await twin.ask("x [simulate: stall]")
        guard case .stream(let stream, _) = response.body.content else { return 0 }
        defer { stream.cancel() }
        var count = 0
        do { while let chunk = try await stream.next() { count += chunk.count } } catch is CancellationError {
        }
        return count
      }
      group.addTask {
        while twin.anthropic.billing.outputTokens < 1 { try await Task.sleep(for: .milliseconds(2)) }
        return 0
      }
      _ = try await group.next()
      group.cancelAll()
      let received = try await group.next()
      #expect(received ?? 0 > 0)
    }
    #expect(twin.anthropic.billing.openStreams == 0)
    #expect(twin.anthropic.billing.abortedStreams == 1)
    #expect(twin.anthropic.billing.outputTokens == 1)
  }

  @Test("a stream that nobody reads to its end counts as aborted")
  func dropped() async throws {
    do {
      let response = try await twin.ask("x")
      guard case .stream(let stream, _) = response.body.content else { return }
      _ = try await stream.next()
    }
    #expect(twin.anthropic.billing.abortedStreams == 1)
    #expect(twin.anthropic.billing.openStreams == 0)
  }

  @Test("a delay is waited for through the clock that was passed in")
  func delay() async throws {
    let (waits, collector) = AsyncStream.makeStream(of: Duration.self)
    let anthropic = SimulatedAnthropic(apiKey: "k", now: { 0 }, sleep: { collector.yield($0) })
    let body = """
      {"model":"claude-haiku-4-5","max_tokens":9,"stream":true,"messages":[{"role":"user",\
      "content":"x [simulate: delay 50ms] [simulate: pace 2s] [simulate: tokens 2]"}]}
      """
    let fields: HTTPFields = ["x-api-key": "k", "anthropic-version": "2023-06-01"]
    let response = try await anthropic.respond(
      to: HTTPRequest(method: .post, target: "/v1/messages", fields: fields, body: HTTPBody(body)))
    _ = try await response.body.collect(upTo: 1 << 20)
    collector.finish()
    var all: [Duration] = []
    for await wait in waits { all.append(wait) }
    #expect(all == [.milliseconds(50), .seconds(2), .seconds(2)])
  }
}
