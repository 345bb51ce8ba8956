/// Reads of a Content-Type value (RFC 9110 §8.3.1).
package enum MediaType {
  /// Type and subtype in small letters, without parameters.
  package static func essence(_ value: String) -> String {
    let end = value.utf8.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
    return trimmed(value[..<end]).lowercased()
  }

  /// The text without blanks around it.
  static func trimmed(_ text: Substring) -> String {
    var octets = Array(text.utf8)[...]
    while let first = octets.first, first == 0x20 || first == 0x09 { octets.removeFirst() }
    while let last = octets.last, last == 0x20 || last == 0x09 { octets.removeLast() }
    return String(decoding: octets, as: UTF8.self)
  }
}
