/// What apps may ask of Anthropic's Messages API. Everything is an allow-list: what is not named is refused.
package struct AnthropicPolicy: Sendable, Equatable {
  /// A tool that Anthropic runs and bills, opted in.
  package struct ServerTool: Sendable, Equatable {
    /// The name under which its uses are reported, such as `web_search_requests`.
    package var usageName: String
    /// Pico-dollars a use.
    package var price: Int64
    /// The most uses that a request may ask for.
    package var maximumUses: Int64

    package init(usageName: String, price: Int64, maximumUses: Int64) {
      self.usageName = usageName
      self.price = price
      self.maximumUses = maximumUses
    }
  }

  /// The names that an app may say, each with the provider's name for it.
  package var models: [String: String]
  /// The most output tokens a request; also what a request without `max_tokens` gets.
  package var maximumOutput: Int64
  /// Values of `anthropic-version`; the client's own is passed on, never replaced.
  package var versions: Set<String>
  /// The version for requests that name none.
  package var defaultVersion: String
  /// Values of `anthropic-beta`; a beta can change price and shape.
  package var betas: Set<String>
  /// Types of tools that the client runs; a tool without a type is `custom`.
  package var clientTools: Set<String>
  /// Types of tools that Anthropic runs, each with its price.
  package var serverTools: [String: ServerTool]
  /// Whether `thinking` may be asked for; it is paid inside `max_tokens`.
  package var allowsThinking: Bool
  /// Whether `cache_control.ttl` may be `1h`; it needs a price as well.
  package var allowsLongCache: Bool
  /// The most images a request.
  package var maximumImages: Int
  /// Whether documents may be sent; each request with a PDF is bounded by the model's whole context.
  package var allowsDocuments: Bool
  /// The most octets of a body; Anthropic takes 32 MB.
  package var maximumBody: Int
  /// The most messages a request.
  package var maximumMessages: Int

  package init(
    models: [String: String], maximumOutput: Int64 = 4_096,
    versions: Set<String> = ["2023-06-01", "2026-10-21"], defaultVersion: String = "2023-06-01",
    betas: Set<String> = [], clientTools: Set<String> = ["custom"], serverTools: [String: ServerTool] = [:],
    allowsThinking: Bool = true, allowsLongCache: Bool = false, maximumImages: Int = 8,
    allowsDocuments: Bool = false, maximumBody: Int = 2 << 20, maximumMessages: Int = 1_000
  ) {
    self.models = models
    self.maximumOutput = maximumOutput
    self.versions = versions
    self.defaultVersion = defaultVersion
    self.betas = betas
    self.clientTools = clientTools
    self.serverTools = serverTools
    self.allowsThinking = allowsThinking
    self.allowsLongCache = allowsLongCache
    self.maximumImages = maximumImages
    self.allowsDocuments = allowsDocuments
    self.maximumBody = maximumBody
    self.maximumMessages = maximumMessages
  }
}
