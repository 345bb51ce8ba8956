/// How a value of an app's user is spelled in a prompt: JSON (RFC 8259) in which nothing is left that could be
/// taken for the end of its place, or that a person who reads the prompt would not see.
package enum PromptText {
  /// A string with its quotes. Angle brackets are escaped, since the places of a prompt are delimited by them,
  /// and so is whatever does not print: controls, marks of direction, tags, private and line-breaking characters.
  package static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      default:
        if isShown(scalar) { out.unicodeScalars.append(scalar) } else { out += escape(scalar) }
      }
    }
    return out + "\""
  }

  /// Whether the character may stand in a prompt as it is.
  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x3C, 0x3E: return false
    case 0x20...0x7E: return true
    // Emoji and several scripts are spelled with joiners.
    case 0x200C, 0x200D: return true
    // Further variation selectors choose no glyph that anybody types, and can hide any text.
    case 0xE0100...0xE01EF: return false
    default: break
    }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
    default: true
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    String(scalar).utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
  }
}
