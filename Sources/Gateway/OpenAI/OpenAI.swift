import Encodings
package import HTTPMessages

/// OpenAI's Chat Completions behind Bramley: `POST /v1/chat/completions`, nothing else.
package struct OpenAI: Provider {
  package let name: String
  package let policy: OpenAIPolicy
  package let prices: PriceTable

  package init(policy: OpenAIPolicy, prices: PriceTable = .shipped, name: String = "openai") {
    self.policy = policy
    self.prices = prices
    self.name = name
  }

  package var paths: [ProviderPath] { [ProviderPath(.post, "/v1/chat/completions")] }

  package func prepare(_ request: ProviderRequest) throws(ProviderRefusal) -> PreparedCall {
    try requireKnown(request)
    try ProviderFields.requireJSON(request.fields)
    let root = try JSONNode.body(of: request, limit: policy.maximumBody)
    var body = try OpenAIBody(policy: policy, root: root)
    guard let price = prices.row(provider: name, model: body.model, at: request.now) else {
      throw .notPriced
    }
    try body.limitOutput(modelMaximum: price.maximumOutput)
    body.setPseudonym(request.pseudonym)
    guard let octets = body.splice.apply(to: request.body) else {
      throw ProviderRefusal("invalid_request", "The body cannot be brought under the policy.")
    }
    let input = try price.inputBound(of: body, octets: octets.count)
    // The newer models write to their cache by themselves, at a price of its own.
    guard let reserve = price.reserve(input: input, output: body.maximumOutput, cache: .fiveMinutes) else {
      throw .tooDear
    }
    return PreparedCall(
      path: request.path, fields: ProviderFields.json, body: octets, changed: !body.splice.isEmpty,
      model: body.model, price: price, inputBound: input, outputBound: body.maximumOutput, reserve: reserve,
      streamed: body.streamed, visibleOnly: body.toolCount == 0 && (!price.reasons || body.reasonsNot),
      cache: .fiveMinutes, hidesUsage: body.hidesUsage)
  }

  package func authorize(_ fields: inout HTTPFields, credential: String) {
    fields["authorization"] = "Bearer \(credential)"
  }

  package func answerFields(_ fields: HTTPFields) -> HTTPFields {
    ProviderFields.answered(fields, passing: ["content-type"])
  }

  package func meter(for call: PreparedCall, streamed: Bool) -> any UsageMeter {
    streamed ? OpenAIStreamMeter() : OpenAIBodyMeter()
  }

  package func filter(for call: PreparedCall, streamed: Bool) -> (any AnswerFilter)? {
    streamed && call.hidesUsage ? UsageChunkFilter() : nil
  }

  private func requireKnown(_ request: ProviderRequest) throws(ProviderRefusal) {
    guard request.path == "/v1/chat/completions" else { throw .noPath }
    try request.requirePost()
  }
}
