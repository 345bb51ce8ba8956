import Encodings
package import HTTPMessages

/// Anthropic's Messages API behind Bramley: `POST /v1/messages` and `POST /v1/messages/count_tokens`, nothing
/// else.
package struct Anthropic: Provider {
  package let name: String
  package let policy: AnthropicPolicy
  package let prices: PriceTable

  package init(policy: AnthropicPolicy, prices: PriceTable = .shipped, name: String = "anthropic") {
    self.policy = policy
    self.prices = prices
    self.name = name
  }

  package var paths: [ProviderPath] {
    [ProviderPath(.post, "/v1/messages"), ProviderPath(.post, "/v1/messages/count_tokens")]
  }

  package func prepare(_ request: ProviderRequest) throws(ProviderRefusal) -> PreparedCall {
    let kind = try kind(of: request)
    let fields = try AnthropicFields.forwarded(request.fields, policy: policy)
    let root = try JSONNode.body(of: request, limit: policy.maximumBody)
    var body = try AnthropicBody(policy: policy, kind: kind, root: root)
    guard let price = prices.row(provider: name, model: body.model, at: request.now) else {
      throw .notPriced
    }
    try body.limitOutput(modelMaximum: price.maximumOutput)
    body.setPseudonym(request.pseudonym)
    guard let octets = body.splice.isEmpty ? request.body : body.splice.apply(to: request.body) else {
      throw ProviderRefusal("invalid_request", "The body cannot be brought under the policy.")
    }
    let input = try inputBound(of: body, octets: octets.count, price: price)
    let reserve = try reserve(of: body, input: input, price: price)
    return PreparedCall(
      path: kind == .messages ? "/v1/messages" : "/v1/messages/count_tokens",
      fields: fields, body: octets, changed: !body.splice.isEmpty, model: body.model,
      price: kind == .messages ? price : nil, toolPrices: body.toolPrices, inputBound: input,
      outputBound: body.maximumOutput, reserve: reserve, streamed: body.streamed,
      visibleOnly: !body.thinks && body.toolCount == 0, cache: body.content.cache)
  }

  package func authorize(_ fields: inout HTTPFields, credential: String) {
    fields.remove("authorization")
    fields["x-api-key"] = credential
  }

  package func answerFields(_ fields: HTTPFields) -> HTTPFields { AnthropicFields.answered(fields) }

  package func meter(for call: PreparedCall, streamed: Bool) -> any UsageMeter {
    streamed
      ? AnthropicStreamMeter(unsplitWritesAreLong: call.cache == .hour)
      : AnthropicBodyMeter(unsplitWritesAreLong: call.cache == .hour)
  }

  private func kind(of request: ProviderRequest) throws(ProviderRefusal) -> AnthropicBody.Kind {
    let kind: AnthropicBody.Kind
    switch request.path {
    case "/v1/messages": kind = .messages
    case "/v1/messages/count_tokens": kind = .countTokens
    default: throw .noPath
    }
    // SDKs say `?beta=true` on their beta resources; it chooses nothing by itself.
    try request.requirePost(query: "beta=true")
    return kind
  }

  /// What cannot be seen into makes it the whole context, once for every turn that a tool of Anthropic's can cause.
  private func inputBound(
    of body: AnthropicBody, octets: Int, price: PriceRow
  ) throws(ProviderRefusal) -> Int64 {
    let bound = try price.inputBound(of: body, octets: octets)
    if body.serverToolUses > 0 {
      guard let turns = PicoDollars.sum([body.serverToolUses, 1]),
        let bound = PicoDollars.product(turns, price.contextSize)
      else { throw .tooDear }
      return bound
    }
    return body.content.unbounded ? price.contextSize : bound
  }

  private func reserve(
    of body: AnthropicBody, input: Int64, price: PriceRow
  ) throws(ProviderRefusal) -> Int64 {
    guard body.kind == .messages else { return 0 }
    if body.content.cache == .hour, price.prices.cacheWrite1h == nil {
      throw ProviderRefusal(
        "cache_ttl_not_priced", place: "cache_control.ttl", "An hour of cache has no price here; use \"5m\".")
    }
    guard
      let tokens = price.reserve(input: input, output: body.maximumOutput, cache: body.content.cache),
      let sum = PicoDollars.sum([tokens, body.toolReserve])
    else { throw .tooDear }
    return sum
  }
}
