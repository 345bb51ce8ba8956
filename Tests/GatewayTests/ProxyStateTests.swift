import Gateway
import HTTPMessages
import Testing

@Suite("A call to a provider")
struct ProxyStateTests {
  private static let key = Array("sk-ant-operator-key-000000".utf8)
  private static let stream: HTTPFields = ["content-type": "text/event-stream; charset=utf-8"]
  private static let json: HTTPFields = ["content-type": "application/json"]
  private static let haiku = (input: Int64(1_000_000), output: Int64(5_000_000))

  private static func run(
    _ events: [ProxyState.Event], body: String = Example.body(#","stream":true"#),
    path: String = "/v1/messages", _ change: (inout AnthropicPolicy) -> Void = { _ in }
  ) throws -> [ProxyState.Action] {
    let provider = Example.anthropic(change)
    let call = try provider.prepare(Example.request(body, path: path))
    var state = ProxyState(call: call, provider: provider, secrets: [key])
    return events.flatMap { state.received($0) }
  }

  private static func settlement(_ actions: [ProxyState.Action]) -> CallSettlement? {
    let all = actions.compactMap { if case .settle(let settlement) = $0 { settlement } else { nil } }
    return all.count == 1 ? all[0] : nil
  }

  private static func error(_ actions: [ProxyState.Action]) -> ProviderError? {
    for case .answerError(let error) in actions { return error }
    return nil
  }

  private static func reserve(_ body: String = Example.body(#","stream":true"#)) throws -> Int64 {
    try Example.prepare(body).reserve
  }

  private static let opening = StreamText().start().block().say("Hello")

  @Test("A stream passes octet by octet, chunk by chunk, and settles at its final figures")
  func success() throws {
    let text = Self.opening.delta(#""output_tokens":12"#).stop()
    let pieces = stride(from: 0, to: text.bytes.count, by: 50).map {
      Array(text.bytes[$0..<min($0 + 50, text.bytes.count)])
    }
    let actions = try Self.run(
      [.requestWritten, .head(status: 200, fields: Self.stream)] + pieces.map { .chunk($0) } + [.ended])
    var forwarded: [[UInt8]] = []
    for case .forward(let bytes) in actions { forwarded.append(bytes) }
    #expect(forwarded == pieces)
    #expect(
      Self.settlement(actions)
        == CallSettlement(
          outcome: .used(cost: 10 * Self.haiku.input + 12 * Self.haiku.output),
          usage: TokenUsage(input: 10, output: 12)))
    #expect(actions.last == .finish)
    #expect(!actions.contains { if case .alarm = $0 { true } else { false } })
  }

  @Test("RULES §5.2: an abort of a plain stream costs its input and an octet a token, never nothing")
  func abortedPlain() throws {
    for event in [
      ProxyState.Event.clientLeft, .failed(.connectionLost, written: true),
      .failed(.timedOut, written: false), .deadline,
      .ended,
    ] {
      let actions = try Self.run(
        [.requestWritten, .head(status: 200, fields: Self.stream), .chunk(Self.opening.bytes), event])
      #expect(Self.settlement(actions)?.cost == 10 * Self.haiku.input + 5 * Self.haiku.output)
      #expect(Self.settlement(actions)?.estimated == true)
    }
  }

  @Test("RULES §5.2: octets of an event that never ended were seen, and cost what they may be")
  func abortedInside() throws {
    let head = ProxyState.Event.head(status: 200, fields: Self.stream)
    for (octets, output) in [(30, Int64(41)), (500, 100), (3 << 20, 100)] {
      let inside = Array("data: {".utf8) + [UInt8](repeating: 0x78, count: octets - 1)
      let actions = try Self.run([head, .chunk(Self.opening.bytes), .chunk(inside), .clientLeft])
      #expect(Self.settlement(actions)?.usage.output == output)
    }
  }

  @Test("RULES §5.2: a last event that tells no output is not the last word")
  func finalWithoutFigure() throws {
    let text = Self.opening.say(String(repeating: "x", count: 40)).delta(#""output_tokens":null"#).stop()
    let actions = try Self.run([.head(status: 200, fields: Self.stream), .chunk(text.bytes), .ended])
    #expect(Self.settlement(actions)?.usage.output == 45)
    #expect(Self.settlement(actions)?.estimated == true)
  }

  @Test("RULES §5.2: what was seen counts up to the limit")
  func abortedAtLimit() throws {
    let long = Self.opening.say(String(repeating: "x", count: 5_000))
    let actions = try Self.run([.head(status: 200, fields: Self.stream), .chunk(long.bytes), .clientLeft])
    #expect(Self.settlement(actions)?.usage.output == 100)
  }

  @Test(
    "RULES §5.2: an abort with thinking or tools costs the full output reserve",
    arguments: [
      #","stream":true,"tools":[{"name":"x"}]"#, #","stream":true,"thinking":{"type":"adaptive"}"#,
    ])
  func abortedHidden(_ more: String) throws {
    let actions = try Self.run(
      [.head(status: 200, fields: Self.stream), .chunk(Self.opening.bytes), .clientLeft],
      body: Example.body(more))
    #expect(Self.settlement(actions)?.cost == 10 * Self.haiku.input + 100 * Self.haiku.output)
  }

  @Test("RULES §5.2: a block that is not text costs the full output reserve, asked for or not")
  func abortedUnasked() throws {
    let text = StreamText().start().block("thinking")
    let actions = try Self.run([.head(status: 200, fields: Self.stream), .chunk(text.bytes), .clientLeft])
    #expect(Self.settlement(actions)?.usage.output == 100)
  }

  @Test("RULES §5.2: nothing known costs the reserve")
  func nothingKnown() throws {
    let reserve = try Self.reserve()
    let cases: [[ProxyState.Event]] = [
      [.requestWritten, .clientLeft],
      [.requestWritten, .failed(.connectionLost, written: false)],
      [.failed(.connectionLost, written: true)],
      [.requestWritten, .deadline],
      [.head(status: 200, fields: Self.stream), .clientLeft],
      [.head(status: 200, fields: Self.stream), .ended],
      [.head(status: 200, fields: Self.json), .chunk(Array("{}".utf8)), .ended],
      [
        .head(status: 200, fields: Self.json), .chunk(Array("{\"usage\"".utf8)),
        .failed(.connectionLost, written: true),
      ],
      [.requestWritten, .ended],
      [.head(status: 504, fields: Self.json), .ended],
      [.head(status: 302, fields: ["location": "https://evil"]), .ended],
    ]
    for events in cases {
      let actions = try Self.run(events)
      #expect(Self.settlement(actions)?.cost == reserve, "\(events)")
      #expect(Self.settlement(actions)?.estimated == true)
    }
  }

  @Test("RULES §5.2, §5.4: nothing written costs nothing, and the count comes back unless the app left")
  func notWritten() throws {
    let lost = try Self.run([.failed(.notConnected, written: false)])
    #expect(Self.settlement(lost)?.outcome == .released(giveBackCount: true))
    #expect(Self.error(lost)?.status == 503)
    #expect(Self.error(lost)?.fields["retry-after"] != nil)
    let left = try Self.run([.clientLeft])
    #expect(Self.settlement(left)?.outcome == .released(giveBackCount: false))
    #expect(Self.error(left) == nil)
    #expect(Self.settlement(try Self.run([.deadline]))?.outcome == .released(giveBackCount: false))
  }

  @Test("What may have been billed is not to be tried again by an SDK")
  func noRetry() throws {
    let actions = try Self.run([.failed(.connectionLost, written: true)])
    #expect(Self.error(actions)?.fields["x-should-retry"] == "false")
  }

  @Test("RULES §5.2: a listed non-2xx is released, and only 5xx and 429 give the count back")
  func unbilled() throws {
    for (status, back) in [(400, false), (404, false), (413, false), (429, true), (500, true), (529, true)] {
      let actions = try Self.run([
        .requestWritten, .head(status: status, fields: Self.json), .chunk(Array("{}".utf8)), .ended,
      ])
      #expect(Self.settlement(actions)?.outcome == .released(giveBackCount: back), "\(status)")
    }
    // Also when the app leaves, or the exchange breaks, while the error is read.
    for event in [ProxyState.Event.clientLeft, .failed(.connectionLost, written: true), .deadline] {
      let actions = try Self.run([.requestWritten, .head(status: 529, fields: Self.json), event])
      #expect(Self.settlement(actions)?.outcome == .released(giveBackCount: true))
    }
  }

  @Test("RULES §5.2: an actual above the reserve is booked as it is, and alarms")
  func aboveReserve() throws {
    let text = Self.opening.delta(#""input_tokens":500000,"output_tokens":100000"#).stop()
    let actions = try Self.run([.head(status: 200, fields: Self.stream), .chunk(text.bytes), .ended])
    let cost = 500_000 * Self.haiku.input + 100_000 * Self.haiku.output
    #expect(Self.settlement(actions)?.cost == cost)
    #expect(
      actions.contains(
        .alarm(.costAboveReserve(model: Example.model, cost: cost, reserve: try Self.reserve()))))
  }

  @Test("A compressed answer, and one of a foreign type, is refused and costs the reserve")
  func unreadable() throws {
    for fields: HTTPFields in [
      ["content-type": "text/event-stream", "content-encoding": "gzip"], ["content-type": "text/html"], [:],
    ] {
      let actions = try Self.run([
        .head(status: 200, fields: fields), .chunk([1, 2, 3]), .ended, .clientLeft,
      ])
      #expect(Self.error(actions)?.status == 502)
      #expect(Self.settlement(actions)?.cost == (try Self.reserve()))
      #expect(actions.contains(.cancelUpstream))
      #expect(!actions.contains { if case .forward = $0 { true } else { false } })
    }
    let identity: HTTPFields = ["content-type": "text/event-stream", "content-encoding": "Identity"]
    #expect(Self.error(try Self.run([.head(status: 200, fields: identity), .ended])) == nil)
  }

  @Test("RULES §6.4: a stream that spells the key is cut, wherever its octets are split")
  func secret() throws {
    let text = Self.opening.say("x" + String(decoding: Self.key, as: UTF8.self)).delta(#""output_tokens":9"#)
      .stop()
    for pieces in [1, 7, 40, text.bytes.count] {
      let chunks = stride(from: 0, to: text.bytes.count, by: pieces).map {
        ProxyState.Event.chunk(Array(text.bytes[$0..<min($0 + pieces, text.bytes.count)]))
      }
      let actions = try Self.run([.head(status: 200, fields: Self.stream)] + chunks + [.ended])
      var seen: [UInt8] = []
      for case .forward(let bytes) in actions { seen += bytes }
      #expect(!String(decoding: seen, as: UTF8.self).contains("operator-key-000000"))
      #expect(actions.contains(.cut) && actions.contains(.cancelUpstream))
      #expect(actions.contains(.alarm(.secretInAnswer)))
      #expect(!actions.contains(.finish))
      #expect(Self.settlement(actions)?.cost ?? 0 > 0)
    }
  }

  @Test("RULES §6.4: the key in a field, or in an error, of the answer does not pass")
  func secretElsewhere() throws {
    let key = String(decoding: Self.key, as: UTF8.self)
    let fields: HTTPFields = ["content-type": "text/event-stream", "request-id": "r-\(key)"]
    #expect(!"\(try Self.run([.head(status: 200, fields: fields)]))".contains(key))
    let body =
      #"{"type":"error","error":{"type":"invalid_request_error","message":"bad \#(key) and \u0073k-ant-operator-key-000000 here"}}"#
    let actions = try Self.run([.head(status: 400, fields: Self.json), .chunk(Array(body.utf8)), .ended])
    #expect(Self.error(actions)?.message == "bad [redacted] and [redacted] here")
  }

  @Test("An error body is read to a bound")
  func errorBound() throws {
    let huge = [UInt8](repeating: 0x20, count: 60_000)
    let actions = try Self.run([
      .head(status: 400, fields: Self.json), .chunk(huge), .chunk(huge), .chunk(huge), .ended,
    ])
    #expect(actions.first == .cancelUpstream)
    #expect(Self.error(actions)?.status == 400)
  }

  @Test("count_tokens costs nothing, however it ends")
  func countTokens() throws {
    let body = #"{"model":"small","messages":[]}"#
    for event in [ProxyState.Event.ended, .clientLeft, .failed(.connectionLost, written: true)] {
      let actions = try Self.run(
        [
          .requestWritten, .head(status: 200, fields: Self.json), .chunk(Array(#"{"input_tokens":5}"#.utf8)),
          event,
        ],
        body: body, path: "/v1/messages/count_tokens")
      #expect(Self.settlement(actions)?.outcome == .used(cost: 0))
      #expect(!actions.contains { if case .alarm = $0 { true } else { false } })
    }
  }

  @Test("RULES §5.2: after an abort a provider's tool costs the reserve")
  func abortedServerTool() throws {
    let body = Example.body(
      #","stream":true,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":1}]"#)
    let change: (inout AnthropicPolicy) -> Void = {
      $0.serverTools["web_search_20250305"] = .init(
        usageName: "web_search_requests", price: 10_000_000_000, maximumUses: 1)
    }
    let actions = try Self.run(
      [.head(status: 200, fields: Self.stream), .chunk(Self.opening.bytes), .clientLeft], body: body, change)
    #expect(Self.settlement(actions)?.cost == (try Example.prepare(body, change).reserve))
  }

  @Test(
    "RULES §5.2: whatever happens in whatever order, the call settles once, and money is released only unwritten or by a listed status"
  )
  func anyOrder() throws {
    var random = SplitMix(state: 42)
    let provider = Example.anthropic()
    let call = try provider.prepare(Example.request(Example.body(#","stream":true"#)))
    let text = Self.opening.delta(#""output_tokens":12"#).stop().bytes
    for _ in 0..<5_000 {
      var state = ProxyState(call: call, provider: provider, secrets: [Self.key])
      var settled = 0
      var answers = 0
      var ended = false
      var written = false
      var status: Int?
      for _ in 0..<12 {
        let event: ProxyState.Event
        switch random.next() % 10 {
        case 0: event = .requestWritten
        case 1:
          event = .head(
            status: [200, 200, 103, 302, 400, 401, 429, 504, 529][Int(random.next() % 9)],
            fields: random.next() % 2 == 0 ? Self.stream : Self.json)
        case 2: event = .ended
        case 3: event = .failed(.connectionLost, written: random.next() % 2 == 0)
        case 4: event = .clientLeft
        case 5: event = .deadline
        case 6: event = .chunk(Self.key)
        default:
          let start = Int(random.next() % UInt64(text.count))
          event = .chunk(Array(text[start...].prefix(100)))
        }
        switch event {
        case .requestWritten, .ended: written = true
        case .head(let code, _) where code >= 200:
          written = true
          if status == nil, !state.isOver { status = code }
        case .failed(_, let flag): written = written || flag
        default: break
        }
        let wasOver = state.isOver
        let actions = state.received(event)
        if wasOver { #expect(actions.isEmpty) }
        for action in actions {
          switch action {
          case .settle(let settlement):
            settled += 1
            if case .released = settlement.outcome, written {
              #expect(status.map { [400, 401, 429, 529].contains($0) } == true)
            }
            if case .used(let cost) = settlement.outcome { #expect(cost > 0) }
          case .answerHead, .answerError: answers += 1
          case .forward: #expect(!ended)
          case .finish, .cut:
            #expect(!ended)
            ended = true
          case .cancelUpstream, .alarm: break
          }
        }
      }
      if !state.isOver {
        settled += state.received(.clientLeft).filter { if case .settle = $0 { true } else { false } }.count
      }
      #expect(settled == 1)
      #expect(answers <= 1)
    }
  }
}

/// A small deterministic source of numbers.
struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
