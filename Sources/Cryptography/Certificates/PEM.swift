import Encodings

/// Textual encoding of binary values (RFC 7468).
package enum PEM {
  /// The values labelled `label`, in the order of the text, other text between them aside; nil when one of
  /// them does not end or is no base64.
  package static func decode(_ text: String, label: String) -> [[UInt8]]? {
    var values: [[UInt8]] = []
    var current: [UInt8]?
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingBlanks
      if line == "-----BEGIN \(label)-----" {
        guard current == nil else { return nil }
        current = []
      } else if line == "-----END \(label)-----" {
        guard let spelled = current, let value = Base64.decode(spelled) else { return nil }
        values.append(value)
        current = nil
      } else if current != nil {
        current?.append(contentsOf: line.utf8)
      }
    }
    return current == nil ? values : nil
  }

  /// The PEM text of a value, 64 characters a line.
  package static func encode(_ value: [UInt8], label: String) -> String {
    var rest = Base64.encode(value)[...]
    var text = "-----BEGIN \(label)-----\n"
    while !rest.isEmpty {
      text += rest.prefix(64) + "\n"
      rest = rest.dropFirst(64)
    }
    return text + "-----END \(label)-----\n"
  }
}

extension Substring {
  fileprivate var trimmingBlanks: Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
