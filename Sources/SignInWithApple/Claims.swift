import Encodings

/// Reads claims in the spellings that Apple has used over the years.
struct Claims {
  let node: JSONNode

  /// A text of 1 to `limit` octets without control characters; nil for anything else.
  func text(_ name: String, limit: Int) -> String? {
    guard let text = node[name]?.string, !text.isEmpty, text.utf8.count <= limit,
      text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    return text
  }

  /// A time: whole seconds since 1970 that a double holds exactly; nil for anything else.
  func time(_ name: String) -> Int64? {
    guard let seconds = node[name]?.integer, (0...1 << 53).contains(seconds) else { return nil }
    return seconds
  }

  /// A truth value as `true` or, until 2023 at least, as `"true"`; nil for anything else.
  func truth(_ name: String) -> Bool? {
    switch node[name]?.content {
    case .bool(let value): value
    case .string("true"): true
    case .string("false"): false
    default: nil
    }
  }

  /// The audiences: one text in every real token; a list of texts is read as well (RFC 7519 §4.1.3). None for
  /// anything else.
  var audiences: [String] {
    if let one = node["aud"]?.string { return [one] }
    let elements = node["aud"]?.elements ?? []
    let texts = elements.compactMap(\.string)
    return texts.count == elements.count ? texts : []
  }

  /// Whether the claim is there and not `null`.
  func has(_ name: String) -> Bool { node[name].map { !$0.isNull } ?? false }
}

/// A received text as a message shows it: printable, and cut.
func shown(_ text: String) -> String {
  let scalars = text.unicodeScalars.prefix(80).map { scalar in
    (0x20..<0x7F).contains(scalar.value) ? Character(scalar) : "\u{FFFD}"
  }
  return "\"" + String(scalars) + (text.unicodeScalars.count > 80 ? "…\"" : "\"")
}

/// The same of several.
func shown(_ texts: [String]) -> String {
  texts.isEmpty ? "nothing" : texts.prefix(8).map { shown($0) }.joined(separator: ", ")
}

/// Whether two texts are the same octets; `==` would take canonically equivalent ones for one.
func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
