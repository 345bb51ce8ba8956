import Gateway
import HTTPMessages
import Testing

@Suite("What a call to a provider costs")
struct ProxySettlementTests {
  @Test("RULES §5.2: an abort of a plain stream costs its input and an octet a token, never nothing")
  func abortedPlain() throws {
    for event in [
      ProxyState.Event.clientLeft, .failed(.connectionLost, written: true),
      .failed(.timedOut, written: false), .deadline,
      .ended,
    ] {
      let actions = try ProxyCall.run(
        [
          .requestWritten, .head(status: 200, fields: ProxyCall.stream), .chunk(ProxyCall.opening.bytes),
          event,
        ])
      #expect(ProxyCall.settlement(actions)?.cost == 10 * ProxyCall.haiku.input + 5 * ProxyCall.haiku.output)
      #expect(ProxyCall.settlement(actions)?.estimated == true)
    }
  }

  @Test("RULES §5.2: what was seen counts up to the limit")
  func abortedAtLimit() throws {
    let long = ProxyCall.opening.say(String(repeating: "x", count: 5_000))
    let actions = try ProxyCall.run([
      .head(status: 200, fields: ProxyCall.stream), .chunk(long.bytes), .clientLeft,
    ])
    #expect(ProxyCall.settlement(actions)?.usage.output == 100)
  }

  @Test(
    "RULES §5.2: an abort with thinking or tools costs the full output reserve",
    arguments: [
      #","stream":true,"tools":[{"name":"x"}]"#, #","stream":true,"thinking":{"type":"adaptive"}"#,
    ])
  func abortedHidden(_ more: String) throws {
    let actions = try ProxyCall.run(
      [.head(status: 200, fields: ProxyCall.stream), .chunk(ProxyCall.opening.bytes), .clientLeft],
      body: Example.body(more))
    #expect(ProxyCall.settlement(actions)?.cost == 10 * ProxyCall.haiku.input + 100 * ProxyCall.haiku.output)
  }

  @Test("RULES §5.2: a block that is not text costs the full output reserve, asked for or not")
  func abortedUnasked() throws {
    let text = StreamText().start().block("thinking")
    let actions = try ProxyCall.run([
      .head(status: 200, fields: ProxyCall.stream), .chunk(text.bytes), .clientLeft,
    ])
    #expect(ProxyCall.settlement(actions)?.usage.output == 100)
  }

  @Test("RULES §5.2: octets of an event that never ended were seen, and cost what they may be")
  func abortedInside() throws {
    let head = ProxyState.Event.head(status: 200, fields: ProxyCall.stream)
    for (octets, output) in [(30, Int64(41)), (500, 100), (3 << 20, 100)] {
      let inside = Array("data: {".utf8) + [UInt8](repeating: 0x78, count: octets - 1)
      let actions = try ProxyCall.run([head, .chunk(ProxyCall.opening.bytes), .chunk(inside), .clientLeft])
      #expect(ProxyCall.settlement(actions)?.usage.output == output)
    }
  }

  @Test("RULES §5.2: a last event that tells no output is not the last word")
  func finalWithoutFigure() throws {
    let text = ProxyCall.opening.say(String(repeating: "x", count: 40)).delta(#""output_tokens":null"#).stop()
    let actions = try ProxyCall.run([
      .head(status: 200, fields: ProxyCall.stream), .chunk(text.bytes), .ended,
    ])
    #expect(ProxyCall.settlement(actions)?.usage.output == 45)
    #expect(ProxyCall.settlement(actions)?.estimated == true)
  }

  @Test("RULES §5.2: after an abort a provider's tool costs the reserve")
  func abortedServerTool() throws {
    let body = Example.body(
      #","stream":true,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":1}]"#)
    let change: (inout AnthropicPolicy) -> Void = {
      $0.serverTools["web_search_20250305"] = .init(
        usageName: "web_search_requests", price: 10_000_000_000, maximumUses: 1)
    }
    let actions = try ProxyCall.run(
      [.head(status: 200, fields: ProxyCall.stream), .chunk(ProxyCall.opening.bytes), .clientLeft],
      body: body, change)
    #expect(ProxyCall.settlement(actions)?.cost == (try Example.prepare(body, change).reserve))
  }

  @Test("RULES §5.2: nothing known costs the reserve")
  func nothingKnown() throws {
    let reserve = try ProxyCall.reserve()
    let cases: [[ProxyState.Event]] = [
      [.requestWritten, .clientLeft],
      [.requestWritten, .failed(.connectionLost, written: false)],
      [.failed(.connectionLost, written: true)],
      [.requestWritten, .deadline],
      [.head(status: 200, fields: ProxyCall.stream), .clientLeft],
      [.head(status: 200, fields: ProxyCall.stream), .ended],
      [.head(status: 200, fields: ProxyCall.json), .chunk(Array("{}".utf8)), .ended],
      [
        .head(status: 200, fields: ProxyCall.json), .chunk(Array("{\"usage\"".utf8)),
        .failed(.connectionLost, written: true),
      ],
      [.requestWritten, .ended],
      [.head(status: 504, fields: ProxyCall.json), .ended],
      [.head(status: 302, fields: ["location": "https://evil"]), .ended],
    ]
    for events in cases {
      let actions = try ProxyCall.run(events)
      #expect(ProxyCall.settlement(actions)?.cost == reserve, "\(events)")
      #expect(ProxyCall.settlement(actions)?.estimated == true)
    }
  }

  @Test("RULES §5.2, §5.4: nothing written costs nothing, and the count comes back unless the app left")
  func notWritten() throws {
    let lost = try ProxyCall.run([.failed(.notConnected, written: false)])
    #expect(ProxyCall.settlement(lost)?.outcome == .released(giveBackCount: true))
    #expect(ProxyCall.error(lost)?.status == 503)
    #expect(ProxyCall.error(lost)?.fields["retry-after"] != nil)
    let left = try ProxyCall.run([.clientLeft])
    #expect(ProxyCall.settlement(left)?.outcome == .released(giveBackCount: false))
    #expect(ProxyCall.error(left) == nil)
    #expect(ProxyCall.settlement(try ProxyCall.run([.deadline]))?.outcome == .released(giveBackCount: false))
  }

  @Test("RULES §5.2: a listed non-2xx is released, and only 5xx and 429 give the count back")
  func unbilled() throws {
    for (status, back) in [(400, false), (404, false), (413, false), (429, true), (500, true), (529, true)] {
      let actions = try ProxyCall.run([
        .requestWritten, .head(status: status, fields: ProxyCall.json), .chunk(Array("{}".utf8)), .ended,
      ])
      #expect(ProxyCall.settlement(actions)?.outcome == .released(giveBackCount: back), "\(status)")
    }
    // Also when the app leaves, or the exchange breaks, while the error is read.
    for event in [ProxyState.Event.clientLeft, .failed(.connectionLost, written: true), .deadline] {
      let actions = try ProxyCall.run([.requestWritten, .head(status: 529, fields: ProxyCall.json), event])
      #expect(ProxyCall.settlement(actions)?.outcome == .released(giveBackCount: true))
    }
  }

  @Test("RULES §5.2: an actual above the reserve is booked as it is, and alarms")
  func aboveReserve() throws {
    let text = ProxyCall.opening.delta(#""input_tokens":500000,"output_tokens":100000"#).stop()
    let actions = try ProxyCall.run([
      .head(status: 200, fields: ProxyCall.stream), .chunk(text.bytes), .ended,
    ])
    let cost = 500_000 * ProxyCall.haiku.input + 100_000 * ProxyCall.haiku.output
    #expect(ProxyCall.settlement(actions)?.cost == cost)
    #expect(
      actions.contains(
        .alarm(.costAboveReserve(model: Example.model, cost: cost, reserve: try ProxyCall.reserve()))))
  }

  @Test("count_tokens costs nothing, however it ends")
  func countTokens() throws {
    let body = #"{"model":"small","messages":[]}"#
    for event in [ProxyState.Event.ended, .clientLeft, .failed(.connectionLost, written: true)] {
      let actions = try ProxyCall.run(
        [
          .requestWritten, .head(status: 200, fields: ProxyCall.json),
          .chunk(Array(#"{"input_tokens":5}"#.utf8)),
          event,
        ],
        body: body, path: "/v1/messages/count_tokens")
      #expect(ProxyCall.settlement(actions)?.outcome == .used(cost: 0))
      #expect(!actions.contains { if case .alarm = $0 { true } else { false } })
    }
  }
}
