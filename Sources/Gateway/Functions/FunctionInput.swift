import Encodings

/// What an app sent to a function, judged by the function's fields. Nothing else of the request reaches a
/// prompt.
package struct FunctionInput: Sendable, Equatable {
  /// A picture whose kind was read from its own octets.
  package struct Image: Sendable, Equatable {
    package var mediaType: String
    /// The file in base64.
    package var base64: String
  }

  /// What stands in the prompt for each field that is no image: JSON by ``PromptText``.
  package private(set) var texts: [String: String] = [:]
  /// The images in the order of the fields.
  package private(set) var images: [Image] = []

  /// Judges a request's body.
  ///
  /// - Parameter body: a JSON object; nothing at all is an object without members, as clients send it.
  package init(_ body: [UInt8], fields: [FunctionField]) throws(ProviderRefusal) {
    let root: JSONNode
    do {
      root = try JSONReader.read(body.isEmpty ? Array("{}".utf8) : body)
    } catch {
      throw ProviderRefusal("invalid_json", "The body is no JSON that is read one way only: \(error).")
    }
    guard let members = root.members else { throw .invalid("body", "must be an object") }
    for member in members where !fields.contains(where: { Self.same($0.name, member.name) }) {
      throw .fieldNotAllowed(member.name)
    }
    for field in fields {
      guard let node = members.first(where: { Self.same($0.name, field.name) })?.value, !node.isNull else {
        guard field.isOptional else { throw .invalid(field.name, "is missing") }
        if !field.isImage { texts[field.name] = "null" }
        continue
      }
      if case .image(let limit) = field.shape {
        images.append(try Self.image(node, at: field.name, limit: limit))
      } else {
        texts[field.name] = try Self.text(node, field.shape, at: field.name)
      }
    }
  }

  /// By octets: Swift's own equality takes canonically equal texts for one.
  private static func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

  private static func text(
    _ node: JSONNode, _ shape: FunctionField.Shape, at place: String
  ) throws(ProviderRefusal) -> String {
    switch shape {
    case .string(let limit):
      guard let text = node.string else { throw .invalid(place, "must be a string") }
      guard text.unicodeScalars.count <= limit else {
        throw .invalid(place, "must be at most \(limit) characters long")
      }
      return PromptText.quoted(text)
    case .integer(let range):
      guard let value = node.integer, range.contains(value) else {
        throw .invalid(place, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
      }
      return String(value)
    case .number(let range):
      guard let value = node.double, value.isFinite, range.contains(value) else {
        throw .invalid(place, "must be a number from \(range.lowerBound) to \(range.upperBound)")
      }
      // Minus zero is a number like any other, but nobody means it.
      return "\(value == 0 ? 0 : value)"
    case .boolean:
      guard let value = node.bool else { throw .invalid(place, "must be true or false") }
      return value ? "true" : "false"
    case .choice(let choices):
      guard let text = node.string, choices.contains(where: { same($0, text) }) else {
        let all = choices.map { "\"\($0)\"" }.joined(separator: ", ")
        throw .invalid(place, "must be one of \(all)")
      }
      return PromptText.quoted(text)
    case .list(let shape, let limit):
      guard let elements = node.elements else { throw .invalid(place, "must be a list") }
      guard elements.count <= limit else { throw .invalid(place, "must have at most \(limit) elements") }
      var texts: [String] = []
      for (index, element) in elements.enumerated() {
        texts.append(try text(element, shape, at: "\(place)[\(index)]"))
      }
      return "[" + texts.joined(separator: ", ") + "]"
    case .image:
      throw .invalid(place, "cannot stand in a text")
    }
  }

  private static func image(
    _ node: JSONNode, at place: String, limit: Int
  ) throws(ProviderRefusal) -> Image {
    // The spelling of so many octets in base64 is a third longer.
    guard let text = node.string, text.utf8.count <= limit / 3 * 4 + 4, let octets = Base64.decode(text),
      octets.count <= limit
    else { throw .invalid(place, "must be a picture of at most \(limit) octets in base64") }
    guard let mediaType = mediaType(octets) else { throw .invalid(place, "must be a PNG, JPEG, GIF or WebP") }
    return Image(mediaType: mediaType, base64: Base64.encode(octets))
  }

  /// The kind of a picture by its first octets: what the app calls it decides nothing.
  private static func mediaType(_ octets: [UInt8]) -> String? {
    if octets.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    if octets.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if octets.starts(with: "GIF87a".utf8) || octets.starts(with: "GIF89a".utf8) { return "image/gif" }
    if octets.starts(with: "RIFF".utf8), octets.dropFirst(8).starts(with: "WEBP".utf8) { return "image/webp" }
    return nil
  }
}

extension FunctionInput {
  /// A body that the fields accept, as short as they allow.
  package static func sample(_ fields: [FunctionField]) -> [UInt8] {
    func value(_ shape: FunctionField.Shape) -> JSONValue {
      switch shape {
      case .string: "x"
      case .integer(let range): .integer(range.lowerBound)
      case .number(let range): .number("\(range.lowerBound)")
      case .boolean: true
      case .choice(let choices): .string(choices.first ?? "")
      case .list(let inner, _): [value(inner)]
      case .image: .string(Base64.encode([0xFF, 0xD8, 0xFF]))
      }
    }
    return JSONValue.object(fields.map { ($0.name, value($0.shape)) }).bytes
  }
}
