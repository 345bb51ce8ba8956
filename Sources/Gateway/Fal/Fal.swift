import Encodings
package import HTTPMessages

/// fal.ai behind Bramley: a model of the allow-list, called directly (`fal.run`) or through the queue
/// (`queue.fal.run`), where the policy is the same and the settlement comes later (``FalQueue``).
package struct Fal: Provider {
  /// How models are called.
  package enum Way: String, Sendable {
    /// The answer is the result.
    case direct = "run"
    /// The answer is a receipt.
    case queue

    /// Where a model is, below the provider's name: the two ways are told apart before it.
    package func path(of model: String) -> String { "/\(rawValue)/\(model)" }
  }

  package let name: String
  package let apps: [FalApp]
  package let prices: PriceTable
  package let way: Way
  /// The most octets of a body.
  package let maximumBody: Int

  package init(
    apps: [FalApp], prices: PriceTable = .shipped, way: Way = .direct, maximumBody: Int = 65_536,
    name: String = "fal"
  ) {
    self.apps = apps
    self.prices = prices
    self.way = way
    self.maximumBody = maximumBody
    self.name = name
  }

  package var paths: [ProviderPath] { apps.map { ProviderPath(.post, way.path(of: $0.id)) } }

  package func prepare(_ request: ProviderRequest) throws(ProviderRefusal) -> PreparedCall {
    guard let app = apps.first(where: { way.path(of: $0.id).utf8.elementsEqual(request.path.utf8) }) else {
      throw ProviderRefusal("app_not_allowed", status: 404, "This model is not allowed here.")
    }
    guard request.method == .post else {
      throw ProviderRefusal("method_not_allowed", status: 405, "Only POST is allowed here.")
    }
    guard request.query == nil else {
      throw ProviderRefusal(
        "query_not_allowed", "No query is allowed here, and no webhook; ask for the result instead.")
    }
    let fields = try Self.forwarded(request.fields)
    let root = try JSONNode.body(of: request, limit: maximumBody)
    let input = try FalInput(app: app, root: root, queued: way == .queue)
    guard let price = prices.row(provider: name, model: app.id, at: request.now), let unit = price.unit,
      let kind = FalUnit(rawValue: unit.unit)
    else {
      throw ProviderRefusal("model_not_priced", "This model has no price in the configuration; use another.")
    }
    // A size that is not said has no bound, and the units of no pixels would be none (RULES §5.3).
    guard kind != .megapixel || input.pixels > 0 else { throw .tooDear }
    guard let bound = kind.microUnits(images: input.images, pixels: input.pixels),
      let reserve = unit.cost(microUnits: bound)
    else { throw .tooDear }
    guard let octets = input.splice.isEmpty ? request.body : input.splice.apply(to: request.body) else {
      throw ProviderRefusal("invalid_request", "The body cannot be brought under the policy.")
    }
    return PreparedCall(
      path: "/" + app.id, fields: fields, body: octets, changed: !input.splice.isEmpty, model: app.id,
      price: price, inputBound: 0, outputBound: 0, microUnitBound: bound, reserve: reserve, streamed: false,
      visibleOnly: false, cache: .none, imageBound: input.images)
  }

  package func authorize(_ fields: inout HTTPFields, credential: String) {
    fields["authorization"] = "Key " + credential
  }

  package func answerFields(_ fields: HTTPFields) -> HTTPFields {
    var out = HTTPFields()
    for name in ["content-type", "x-fal-request-id"] {
      if let value = fields[name] { out.append(name, value) }
    }
    out.append("cache-control", "no-store, no-transform")
    return out
  }

  package func meter(for call: PreparedCall, streamed: Bool) -> any UsageMeter {
    meter(for: call, streamed: streamed, fields: HTTPFields())
  }

  package func meter(for call: PreparedCall, streamed: Bool, fields: HTTPFields) -> any UsageMeter {
    FalMeter(unit: call.price?.unit.flatMap { FalUnit(rawValue: $0.unit) }, fields: fields)
  }

  /// The fields of the request to fal. Its own (priority, time-outs, hints of a runner), credentials, and
  /// everything unknown stay behind.
  private static func forwarded(_ fields: HTTPFields) throws(ProviderRefusal) -> HTTPFields {
    let types = fields.values("content-type")
    guard types.count == 1, let type = types.first, MediaType.essence(type) == "application/json" else {
      throw ProviderRefusal(
        "content_type_not_allowed", status: 415, place: "content-type", "Send application/json.")
    }
    guard fields.values("content-encoding").isEmpty else {
      throw ProviderRefusal(
        "content_encoding_not_allowed", status: 415, place: "content-encoding", "Send the body as it is.")
    }
    return [
      "content-type": "application/json", "accept": "application/json", "accept-encoding": "identity",
      "user-agent": "bramley",
    ]
  }
}
