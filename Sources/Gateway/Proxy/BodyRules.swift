import Encodings
import HTTPMessages

extension JSONNode {
  /// The body of a request; refused where it is too long or no strict JSON.
  static func body(of request: ProviderRequest, limit: Int) throws(ProviderRefusal) -> JSONNode {
    guard request.body.count <= limit else {
      throw ProviderRefusal(
        "body_too_large", status: 413, "At most \(limit) octets are allowed in a request.")
    }
    do {
      return try JSONReader.read(request.body)
    } catch {
      throw ProviderRefusal("invalid_json", "The body is no JSON that is read one way only: \(error).")
    }
  }

  /// Refuses what is no object, or has a member that is not listed.
  func only(_ names: Set<String>, at place: String) throws(ProviderRefusal) {
    guard let members else { throw .invalid(place, "must be an object") }
    for member in members where !names.contains(member.name) {
      throw .fieldNotAllowed(place.isEmpty ? member.name : "\(place).\(member.name)")
    }
  }
}

extension JSONNode {
  /// The provider's name of the model that a body asks for; another name for it is replaced.
  func model(
    among models: [String: String], _ splice: inout JSONSplice
  ) throws(ProviderRefusal) -> String {
    guard let node = self["model"], let name = node.string else {
      throw .invalid("model", "must be a string")
    }
    let model = try String.allowed(name, among: models)
    if model != name { splice.replace(node, with: .string(model)) }
    return model
  }

  /// The messages of a body, at most so many.
  func messages(atMost limit: Int) throws(ProviderRefusal) -> [JSONNode] {
    guard let messages = self["messages"]?.elements else { throw .invalid("messages", "must be an array") }
    guard messages.count <= limit else {
      throw ProviderRefusal("too_many_messages", place: "messages", "At most \(limit) messages are allowed.")
    }
    return messages
  }
}

extension ProviderRequest {
  /// Refuses what is no POST, and a query unless it is that one.
  func requirePost(query allowed: String? = nil) throws(ProviderRefusal) {
    guard method == .post else {
      throw ProviderRefusal("method_not_allowed", status: 405, "Only POST is allowed here.")
    }
    guard query == nil || query == allowed else {
      throw ProviderRefusal("query_not_allowed", "No query is allowed here; leave it out.")
    }
  }
}

extension ProviderRefusal {
  static let noPath = ProviderRefusal(
    "path_not_allowed", status: 404, "There is nothing at this path.")

  static let tooDear = ProviderRefusal(
    "cost_not_bounded", "What this request can cost is too much to be counted; ask for less.")

  static let notPriced = ProviderRefusal(
    "model_not_priced", place: "model", "This model has no price in the configuration; use another.")

  static func invalid(_ place: String, _ what: String) -> ProviderRefusal {
    ProviderRefusal("invalid_request", place: place, "This value \(what).")
  }

  static func fieldNotAllowed(_ place: String) -> ProviderRefusal {
    ProviderRefusal("field_not_allowed", place: shown(place), "This field is not allowed here; leave it out.")
  }

  static func blockNotAllowed(_ place: String) -> ProviderRefusal {
    ProviderRefusal(
      "content_not_allowed", place: place, "Content of this type is not allowed here; leave it out.")
  }

  /// A place may end in a name that the client chose: cut and freed of what does not print.
  private static func shown(_ place: String) -> String {
    String(
      String.UnicodeScalarView(
        place.unicodeScalars.prefix(120).map { (0x20...0x7E).contains($0.value) ? $0 : "?" }))
  }
}

extension String {
  /// The provider's name of a model that an app names; refused where it is none of those allowed.
  static func allowed(_ name: String, among models: [String: String]) throws(ProviderRefusal) -> String {
    // By octets: Swift's own equality takes canonically equal texts for one.
    if let known = models.first(where: { $0.key.utf8.elementsEqual(name.utf8) }) { return known.value }
    throw ProviderRefusal(
      "model_not_allowed", place: "model",
      "This model is not allowed here; allowed: \(models.keys.sorted().joined(separator: ", ")).")
  }
}
