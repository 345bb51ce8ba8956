/// What of a conversation's body is counted towards its input.
protocol CountedBody {
  var messageCount: Int64 { get }
  var toolCount: Int64 { get }
  /// What makes the provider add a prompt of its own.
  var promptCount: Int64 { get }
  var imageCount: Int64 { get }
  /// Octets that spell images.
  var imageOctets: Int { get }
}

extension PriceRow {
  /// The most input tokens of a body of so many octets (RULES §5.3): octets of text, the row's fixed tokens, and its
  /// maximum for each image.
  func inputBound(of body: some CountedBody, octets: Int) throws(ProviderRefusal) -> Int64 {
    let text = Int64(max(0, octets - body.imageOctets))
    guard let frame = PicoDollars.product(body.messageCount + 1, tokensPerMessage),
      let tools = PicoDollars.product(body.toolCount, tokensPerTool),
      let prompts = PicoDollars.product(body.promptCount, tokensPerPrompt),
      let images = PicoDollars.product(body.imageCount, tokensPerImage),
      let sum = PicoDollars.sum([text, frame, tools, prompts, images])
    else { throw .tooDear }
    return min(sum, contextSize)
  }
}
