import Encodings
import SQL

/// How far a table was copied: the key of its last row as a text, which stands in the target and is changed in the
/// transaction that adds the rows.
enum CopyCursor {
  static func spell(_ key: [SQLValue]) -> String? {
    var parts: [String] = []
    for value in key {
      switch value {
      case .integer(let number): parts.append("i\(number)")
      case .text(let text): parts.append("t\(Hex.encode(text.utf8))")
      case .blob(let bytes): parts.append("b\(Hex.encode(bytes))")
      case .uuid(let bytes): parts.append("u\(Hex.encode(bytes))")
      default: return nil
      }
    }
    return parts.joined(separator: ",")
  }

  static func read(_ text: String) -> [SQLValue]? {
    var key: [SQLValue] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let rest = part.dropFirst()
      switch part.first {
      case "i":
        guard let number = Int64(rest) else { return nil }
        key.append(.integer(number))
      case "t":
        guard let bytes = Hex.decode(rest), let text = String(validating: bytes, as: UTF8.self) else {
          return nil
        }
        key.append(.text(text))
      case "b":
        guard let bytes = Hex.decode(rest) else { return nil }
        key.append(.blob(bytes))
      case "u":
        guard let bytes = Hex.decode(rest) else { return nil }
        key.append(.uuid(bytes))
      default: return nil
      }
    }
    return key
  }
}
