import Gateway
import HTTPMessages

/// A call as the tests drive it.
enum ProxyCall {
  static let key = Array("sk-ant-operator-key-000000".utf8)
  static let stream: HTTPFields = ["content-type": "text/event-stream; charset=utf-8"]
  static let json: HTTPFields = ["content-type": "application/json"]
  static let haiku = (input: Int64(1_000_000), output: Int64(5_000_000))

  static func run(
    _ events: [ProxyState.Event], body: String = Example.body(#","stream":true"#),
    path: String = "/v1/messages", _ change: (inout AnthropicPolicy) -> Void = { _ in }
  ) throws -> [ProxyState.Action] {
    let provider = Example.anthropic(change)
    let call = try provider.prepare(Example.request(body, path: path))
    var state = ProxyState(call: call, provider: provider, secrets: [key])
    return events.flatMap { state.received($0) }
  }

  static func settlement(_ actions: [ProxyState.Action]) -> CallSettlement? {
    let all = actions.compactMap { if case .settle(let settlement) = $0 { settlement } else { nil } }
    return all.count == 1 ? all[0] : nil
  }

  static func error(_ actions: [ProxyState.Action]) -> ProviderError? {
    for case .answerError(let error) in actions { return error }
    return nil
  }

  static func reserve(_ body: String = Example.body(#","stream":true"#)) throws -> Int64 {
    try Example.prepare(body).reserve
  }

  static let opening = StreamText().start().block().say("Hello")
}
