import Gateway
import HTTPMessages
import Testing

@Suite("A call to a provider")
struct ProxyStateTests {
  @Test("A stream passes octet by octet, chunk by chunk, and settles at its final figures")
  func success() throws {
    let text = ProxyCall.opening.delta(#""output_tokens":12"#).stop()
    let pieces = stride(from: 0, to: text.bytes.count, by: 50).map {
      Array(text.bytes[$0..<min($0 + 50, text.bytes.count)])
    }
    let actions = try ProxyCall.run(
      [.requestWritten, .head(status: 200, fields: ProxyCall.stream)] + pieces.map { .chunk($0) } + [.ended])
    var forwarded: [[UInt8]] = []
    for case .forward(let bytes) in actions { forwarded.append(bytes) }
    #expect(forwarded == pieces)
    #expect(
      ProxyCall.settlement(actions)
        == CallSettlement(
          outcome: .used(cost: 10 * ProxyCall.haiku.input + 12 * ProxyCall.haiku.output),
          usage: TokenUsage(input: 10, output: 12)))
    #expect(actions.last == .finish)
    #expect(!actions.contains { if case .alarm = $0 { true } else { false } })
  }

  @Test("What may have been billed is not to be tried again by an SDK")
  func noRetry() throws {
    let actions = try ProxyCall.run([.failed(.connectionLost, written: true)])
    #expect(ProxyCall.error(actions)?.fields["x-should-retry"] == "false")
  }

  @Test("A compressed answer, and one of a foreign type, is refused and costs the reserve")
  func unreadable() throws {
    for fields: HTTPFields in [
      ["content-type": "text/event-stream", "content-encoding": "gzip"], ["content-type": "text/html"], [:],
    ] {
      let actions = try ProxyCall.run([
        .head(status: 200, fields: fields), .chunk([1, 2, 3]), .ended, .clientLeft,
      ])
      #expect(ProxyCall.error(actions)?.status == 502)
      #expect(ProxyCall.settlement(actions)?.cost == (try ProxyCall.reserve()))
      #expect(actions.contains(.cancelUpstream))
      #expect(!actions.contains { if case .forward = $0 { true } else { false } })
    }
    let identity: HTTPFields = ["content-type": "text/event-stream", "content-encoding": "Identity"]
    #expect(ProxyCall.error(try ProxyCall.run([.head(status: 200, fields: identity), .ended])) == nil)
  }

  @Test("An error body is read to a bound")
  func errorBound() throws {
    let huge = [UInt8](repeating: 0x20, count: 60_000)
    let actions = try ProxyCall.run([
      .head(status: 400, fields: ProxyCall.json), .chunk(huge), .chunk(huge), .chunk(huge), .ended,
    ])
    #expect(actions.first == .cancelUpstream)
    #expect(ProxyCall.error(actions)?.status == 400)
  }

  @Test(
    "RULES §5.2: whatever happens in whatever order, the call settles once, and money is released only unwritten or by a listed status"
  )
  func anyOrder() throws {
    var random = SplitMix(state: 42)
    let provider = Example.anthropic()
    let call = try provider.prepare(Example.request(Example.body(#","stream":true"#)))
    let text = ProxyCall.opening.delta(#""output_tokens":12"#).stop().bytes
    for _ in 0..<5_000 {
      var state = ProxyState(call: call, provider: provider, secrets: [ProxyCall.key])
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
            fields: random.next() % 2 == 0 ? ProxyCall.stream : ProxyCall.json)
        case 2: event = .ended
        case 3: event = .failed(.connectionLost, written: random.next() % 2 == 0)
        case 4: event = .clientLeft
        case 5: event = .deadline
        case 6: event = .chunk(ProxyCall.key)
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
