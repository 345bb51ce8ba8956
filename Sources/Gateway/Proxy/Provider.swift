package import HTTPMessages

/// What Bramley knows of one AI provider: its paths and policy, its usage figures, its errors. A provider is
/// a value without I/O; the server runs a call by ``ProxyState``.
package protocol Provider: Sendable {
  /// The name in paths (`/ai/{name}/…`), price rows and usage rows.
  var name: String { get }

  /// What of its API is passed through; there is nothing beside it.
  var paths: [ProviderPath] { get }

  /// Judges a request of an app. What is not known to be bounded in size and price is refused, and nothing is
  /// forwarded then.
  func prepare(_ request: ProviderRequest) throws(ProviderRefusal) -> PreparedCall

  /// Sets the credential on the fields of a prepared call.
  func authorize(_ fields: inout HTTPFields, credential: String)

  /// The fields of a 2xx answer that pass to the app.
  func answerFields(_ fields: HTTPFields) -> HTTPFields

  /// A reader of the usage in the answer to that call.
  func meter(for call: PreparedCall, streamed: Bool) -> any UsageMeter

  /// The same, where the head of the answer may say it.
  func meter(for call: PreparedCall, streamed: Bool, fields: HTTPFields) -> any UsageMeter

  /// Takes out of a 2xx answer what is the gateway's alone; nil where everything passes as it came.
  func filter(for call: PreparedCall, streamed: Bool) -> (any AnswerFilter)?

  /// What a non-2xx answer of the provider means: what the app is told, and what the operator.
  func judge(status: Int, fields: HTTPFields, body: [UInt8], scrubber: SecretScrubber) -> UpstreamFailure
}

extension Provider {
  package func meter(for call: PreparedCall, streamed: Bool, fields: HTTPFields) -> any UsageMeter {
    meter(for: call, streamed: streamed)
  }

  package func filter(for call: PreparedCall, streamed: Bool) -> (any AnswerFilter)? { nil }
}

/// Takes something out of an answer on its way.
package protocol AnswerFilter: Sendable {
  /// What of the octets so far may pass now.
  mutating func pass(_ chunk: [UInt8]) -> [UInt8]
  /// What was held back when the answer ended.
  mutating func end() -> [UInt8]
}

/// One method and path of a provider's API.
package struct ProviderPath: Sendable, Hashable {
  package var method: HTTPMethod
  /// The provider's own path, such as `/v1/messages`. One segment may be a name in braces, which stands for any
  /// identifier.
  package var path: String

  package init(_ method: HTTPMethod, _ path: String) {
    self.method = method
    self.path = path
  }

  /// The path of a request, with the identifier in the place of the braces.
  package func path(parameter: String?) -> String {
    guard let parameter, let start = path.firstIndex(of: "{"), let end = path.lastIndex(of: "}"), start < end
    else { return path }
    return path[..<start] + parameter + path[path.index(after: end)...]
  }
}

/// A request for a provider as it came, after admission's evidence was checked.
package struct ProviderRequest: Sendable {
  package var method: HTTPMethod
  /// The provider's own path, such as `/v1/messages`, and the query if there was one.
  package var path: String
  package var query: String?
  package var fields: HTTPFields
  package var body: [UInt8]
  /// The pseudonym under which the provider may know the device; nil sends none.
  package var pseudonym: String?
  /// Seconds since 1970: the price row in force now is the one that settles.
  package var now: Int64

  package init(
    method: HTTPMethod, path: String, query: String? = nil, fields: HTTPFields, body: [UInt8],
    pseudonym: String?, now: Int64
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.fields = fields
    self.body = body
    self.pseudonym = pseudonym
    self.now = now
  }
}

/// A request that may be forwarded, with the bounds of what it can cost.
package struct PreparedCall: Sendable, Equatable {
  package var method = HTTPMethod.post
  /// The path at the provider.
  package var path: String
  /// The fields to send, from the allow-list, without the credential.
  package var fields: HTTPFields
  /// The octets to send: the client's own where the policy had nothing to change.
  package var body: [UInt8]
  /// Whether `body` differs from what the client sent.
  package var changed: Bool
  /// The model by the provider's name.
  package var model: String
  /// The row that reserves and settles; nil for a call that costs nothing.
  package var price: PriceRow?
  /// Pico-dollars a use of each tool that the provider runs.
  package var toolPrices: [String: Int64] = [:]
  /// The most input tokens that this can come to.
  package var inputBound: Int64
  /// The most output tokens: the forwarded `max_tokens`.
  package var outputBound: Int64
  /// The most millionths of a unit that this can come to, where the model is priced by units.
  package var microUnitBound: Int64 = 0
  /// The most that this can cost, in pico-dollars.
  package var reserve: Int64
  /// Whether an event stream was asked for.
  package var streamed: Bool
  /// Whether all output is text that the stream shows (no tools, no thinking), so that an abort can be
  /// charged by what was seen (RULES §5.2).
  package var visibleOnly: Bool
  /// Which cache writes the request can cause.
  package var cache: CacheUse
  /// The most images that this can make.
  package var imageBound: Int64 = 0
  /// Whether the app did not ask for the usage that the gateway asked the provider for.
  package var hidesUsage = false
}

/// Why a request is not forwarded.
package struct ProviderRefusal: Error, Sendable, Equatable {
  /// A stable name, such as `model_not_allowed`.
  package var code: String
  /// 400, 404, 405, 413 or 415.
  package var status: Int
  /// The place in the body or the field's name, such as `messages[2].content[0].source.type`.
  package var place: String?
  /// What is wrong and what to do instead; holds nothing of the body's content.
  package var message: String

  package init(_ code: String, status: Int = 400, place: String? = nil, _ message: String) {
    self.code = code
    self.status = status
    self.place = place
    self.message = message
  }
}

/// An error as the app is told of it.
package struct ProviderError: Sendable, Equatable {
  package var status: Int
  /// The provider's own type, such as `rate_limit_error`.
  package var type: String
  package var message: String
  /// Bramley's stable name.
  package var code: String
  /// The provider's own name for what is wrong with a request, where it has one.
  package var providerCode: String?
  /// Further fields, such as Retry-After.
  package var fields: HTTPFields

  package init(
    status: Int, type: String, code: String, message: String, providerCode: String? = nil,
    fields: HTTPFields = HTTPFields()
  ) {
    self.status = status
    self.type = type
    self.code = code
    self.message = message
    self.providerCode = providerCode
    self.fields = fields
  }
}
