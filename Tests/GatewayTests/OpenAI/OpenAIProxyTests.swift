import Gateway
import HTTPMessages
import Testing

@Suite("A call to OpenAI, from its head to its settlement")
struct OpenAIProxyTests {
  private static let head = ProxyState.Event.head(status: 200, fields: ProxyCall.stream)
  private static let usage = #""prompt_tokens":10,"completion_tokens":12"#
  private static let asked = Chat.body(#","stream":true,"stream_options":{"include_usage":true}"#)

  @Test("The usage chunk is kept from who did not ask for it; every other octet passes as it came")
  func hiddenUsage() throws {
    for newline in ["\n", "\r\n", "\r"] {
      let shown = ChatStream(newline: newline).say("Hello").delta("", finish: "stop")
      let whole = shown.usage(Self.usage).done()
      for step in [1, 2, 5, 4_096] {
        let bytes = whole.bytes
        let chunks = stride(from: 0, to: bytes.count, by: step).map {
          ProxyState.Event.chunk(Array(bytes[$0..<min($0 + step, bytes.count)]))
        }
        let actions = try Chat.run([Self.head] + chunks + [.ended])
        #expect(Chat.forwarded(actions) == shown.done().text)
        #expect(
          ProxyCall.settlement(actions)
            == CallSettlement(
              outcome: .used(cost: 10 * 400_000 + 12 * 1_600_000), usage: TokenUsage(input: 10, output: 12)))
        #expect(actions.last == .finish)
        let kept = try Chat.run([Self.head] + chunks + [.ended], body: Self.asked)
        #expect(Chat.forwarded(kept) == whole.text)
      }
    }
  }

  @Test("What only looks like the usage passes: with choices, without figures, too long, broken off")
  func lookalikes() throws {
    let streams = [
      ChatStream().delta(#""content":"x""#, usage: #"{"prompt_tokens":1}"#),
      ChatStream().chunk(#""choices":[],"prompt_filter_results":[]"#),
      ChatStream().chunk(#""choices":[],"usage":null"#),
      ChatStream().chunk(#""choices":[],"usage":{"x":"\#(String(repeating: "y", count: 9_000))"}"#),
      ChatStream().data(#"{"error":{"message":"usage"}}"#), ChatStream().data("choices usage"),
    ]
    for stream in streams {
      for step in [1, 3, 1 << 20] {
        let chunks = stride(from: 0, to: stream.bytes.count, by: step).map {
          ProxyState.Event.chunk(Array(stream.bytes[$0..<min($0 + step, stream.bytes.count)]))
        }
        #expect(Chat.forwarded(try Chat.run([Self.head] + chunks + [.ended])) == stream.text)
      }
    }
    let cut = Array(ChatStream.opening.usage(Self.usage).bytes.dropLast(3))
    #expect(Chat.forwarded(try Chat.run([Self.head, .chunk(cut), .ended])).utf8.elementsEqual(cut))
    // After a usage chunk that was kept back, a long event with a line end of two octets at its limit stays whole.
    for padding in 8_150...8_200 {
      let long = ChatStream(newline: "\r\n").data(String(repeating: "z", count: padding))
      let stream = ChatStream(newline: "\r\n").usage(Self.usage).bytes + long.bytes
      #expect(Chat.forwarded(try Chat.run([Self.head, .chunk(stream), .ended])) == long.text)
    }
  }

  @Test("RULES §5.2: an abort of a visible stream pays the input's bound and what was seen")
  func abortedVisible() throws {
    let call = try Chat.prepare(Chat.body(#","stream":true"#))
    let actions = try Chat.run([Self.head, .chunk(ChatStream.opening.bytes), .clientLeft])
    let settlement = try #require(ProxyCall.settlement(actions))
    #expect(settlement.cost == call.inputBound * 400_000 + 5 * 1_600_000)
    #expect(settlement.estimated && settlement.usage.output == 5 && settlement.cost < call.reserve)
    #expect(actions.contains(.cancelUpstream))
  }

  @Test(
    "RULES §5.2: an abort before the first chunk, within reasoning or a tool, or unstreamed pays the reserve")
  func abortedUnseen() throws {
    let bodies = [
      (Chat.body(#","stream":true"#), ProxyCall.stream, [UInt8]()),
      (Chat.body(#","stream":true"#, model: Chat.reasoning), ProxyCall.stream, ChatStream.opening.bytes),
      (
        Chat.body(#","stream":true,"tools":[{"type":"function","function":{"name":"f"}}]"#), ProxyCall.stream,
        ChatStream.opening.bytes
      ), (Chat.body(), ProxyCall.json, Array(#"{"choices":["#.utf8)),
    ]
    for (body, fields, bytes) in bodies {
      let actions = try Chat.run(
        [.head(status: 200, fields: fields), .chunk(bytes), .clientLeft], body: body)
      #expect(ProxyCall.settlement(actions)?.cost == (try Chat.prepare(body).reserve))
    }
  }

  @Test(
    "RULES §5.2: without usage, or after an error in the stream, the operator is told and it is charged all the same"
  )
  func missing() throws {
    let actions = try Chat.run([Self.head, .chunk(ChatStream.answer.done().bytes), .ended])
    #expect(actions.contains(.alarm(.usageUnreadable(model: Chat.model))))
    #expect(try #require(ProxyCall.settlement(actions)).cost > 0)
    let failed = ChatStream.opening.data(#"{"error":{"message":"overloaded","type":"server_error"}}"#)
    let broken = try Chat.run([Self.head, .chunk(failed.bytes), .ended])
    #expect(try #require(ProxyCall.settlement(broken)).cost > 0)
    #expect(Chat.forwarded(broken) == failed.text)
    let dropped = try Chat.run([
      Self.head, .chunk(ChatStream.opening.bytes), .failed(.connectionLost, written: true),
    ])
    #expect(dropped.last == .cut && ProxyCall.settlement(dropped)?.estimated == true)
  }

  @Test("RULES §6.4: an answer that spells the key is cut, also within what is held back")
  func echo() throws {
    let key = String(decoding: ProxyCall.key, as: UTF8.self)
    for stream in [ChatStream.opening.say(key), ChatStream.opening.usage(#""x":"\#(key)""#).say("y")] {
      for step in [1, 7, 1 << 20] {
        let chunks = stride(from: 0, to: stream.bytes.count, by: step).map {
          ProxyState.Event.chunk(Array(stream.bytes[$0..<min($0 + step, stream.bytes.count)]))
        }
        let actions = try Chat.run([Self.head] + chunks + [.ended])
        #expect(!Chat.forwarded(actions).contains(key))
      }
    }
    let held = try Chat.run([Self.head, .chunk(Array("data: \(key)".utf8)), .ended])
    #expect(held.contains(.cut) && held.contains(.alarm(.secretInAnswer)) && !held.contains(.finish))
    #expect(Chat.forwarded(held).isEmpty && ProxyCall.settlement(held) != nil)
  }

  @Test("RULES §5.2: an actual above the reserve is booked as it is and closes the model")
  func aboveReserve() throws {
    let stream = ChatStream.answer.usage(#""prompt_tokens":900000,"completion_tokens":9"#).done()
    let actions = try Chat.run([Self.head, .chunk(stream.bytes), .ended])
    let settlement = try #require(ProxyCall.settlement(actions))
    #expect(settlement.cost == 900_000 * 400_000 + 9 * 1_600_000)
    #expect(
      actions.contains { if case .alarm(.costAboveReserve(Chat.model, _, _)) = $0 { true } else { false } })
  }

  @Test("Cached input is paid at its own price, and above 272,000 tokens all of it at the dearer one")
  func prices() throws {
    let row = try #require(PriceTable.shipped.row(provider: "openai", model: Chat.reasoning, at: 0))
    let mixed: Int64 = 100 * 100_000 + 50 * 10_000 + 10 * 125_000 + 7 * 500_000
    #expect(row.cost(of: TokenUsage(input: 100, cacheRead: 50, cacheWrite5m: 10, output: 7)) == mixed)
    let (short, long): (Int64, Int64) = (272_000 * 100_000 + 2 * 500_000, 272_001 * 200_000 + 2 * 750_000)
    #expect(row.cost(of: TokenUsage(input: 272_000, output: 2)) == short)
    #expect(row.cost(of: TokenUsage(input: 272_001, output: 2)) == long)
    let rows = PriceTable.shipped.rows.filter { $0.provider == "openai" }
    #expect(rows.count == 21 && Set(rows.map(\.model)).count == 21)
    #expect(
      rows.allSatisfy {
        $0.prices.isValid && $0.prices.input > 0 && $0.prices.cacheRead > 0 && !$0.source.isEmpty
      })
    #expect(
      PriceTable.shipped.row(provider: "openai", model: "gpt-5-mini-2025-08-07", at: 0)?.model == "gpt-5-mini"
    )
    #expect(PriceTable.shipped.row(provider: "openai", model: "gpt-4o-2024-05-13", at: 0) == nil)
  }
}
