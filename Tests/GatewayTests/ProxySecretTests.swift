import Gateway
import HTTPMessages
import Testing

@Suite("Secrets in a provider's answer")
struct ProxySecretTests {
  @Test("RULES §6.4: a stream that spells the key is cut, wherever its octets are split")
  func secret() throws {
    let text = ProxyCall.opening.say("x" + String(decoding: ProxyCall.key, as: UTF8.self)).delta(
      #""output_tokens":9"#
    )
    .stop()
    for pieces in [1, 7, 40, text.bytes.count] {
      let chunks = stride(from: 0, to: text.bytes.count, by: pieces).map {
        ProxyState.Event.chunk(Array(text.bytes[$0..<min($0 + pieces, text.bytes.count)]))
      }
      let actions = try ProxyCall.run([.head(status: 200, fields: ProxyCall.stream)] + chunks + [.ended])
      var seen: [UInt8] = []
      for case .forward(let bytes) in actions { seen += bytes }
      #expect(!String(decoding: seen, as: UTF8.self).contains("operator-key-000000"))
      #expect(actions.contains(.cut) && actions.contains(.cancelUpstream))
      #expect(actions.contains(.alarm(.secretInAnswer)))
      #expect(!actions.contains(.finish))
      #expect(ProxyCall.settlement(actions)?.cost ?? 0 > 0)
    }
  }

  @Test("RULES §6.4: the key in a field, or in an error, of the answer does not pass")
  func secretElsewhere() throws {
    let key = String(decoding: ProxyCall.key, as: UTF8.self)
    let fields: HTTPFields = ["content-type": "text/event-stream", "request-id": "r-\(key)"]
    #expect(!"\(try ProxyCall.run([.head(status: 200, fields: fields)]))".contains(key))
    let body =
      #"{"type":"error","error":{"type":"invalid_request_error","message":"bad \#(key) and \u0073k-ant-operator-key-000000 here"}}"#
    let actions = try ProxyCall.run([
      .head(status: 400, fields: ProxyCall.json), .chunk(Array(body.utf8)), .ended,
    ])
    #expect(ProxyCall.error(actions)?.message == "bad [redacted] and [redacted] here")
  }
}
