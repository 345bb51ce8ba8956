import HTTPMessages

/// The header fields that are the same for every provider with JSON bodies. Both directions are allow-lists: the
/// client's credentials and cookies, selectors of an organisation or project, and everything unknown stay behind
/// (RULES §6.4).
enum ProviderFields {
  /// What is sent, before the credential and what the provider's API wants besides.
  static let json: HTTPFields = [
    "content-type": "application/json", "accept": "application/json, text/event-stream",
    "accept-encoding": "identity", "user-agent": "bramley",
  ]

  /// Refuses a body that is not plain JSON.
  static func requireJSON(_ fields: HTTPFields) throws(ProviderRefusal) {
    let types = fields.values("content-type")
    guard types.count == 1, let type = types.first, MediaType.essence(type) == "application/json" else {
      throw ProviderRefusal(
        "content_type_not_allowed", status: 415, place: "content-type", "Send application/json.")
    }
    guard fields.values("content-encoding").isEmpty else {
      throw ProviderRefusal(
        "content_encoding_not_allowed", status: 415, place: "content-encoding", "Send the body as it is.")
    }
  }

  /// The named fields of an answer, and those that keep it as it is on its way.
  static func answered(_ fields: HTTPFields, passing names: [String]) -> HTTPFields {
    var out = HTTPFields()
    for name in names {
      if let value = fields[name] { out.append(name, value) }
    }
    // Middleboxes that compress or buffer would hold events back.
    out.append("cache-control", "no-store, no-transform")
    out.append("x-accel-buffering", "no")
    return out
  }
}
