/// The name of an object in its bucket, such as `creature/7c0e.png`. It needs no escaping in a URL, and no two of its
/// spellings are the same object.
package struct ObjectPath: Sendable, Hashable, CustomStringConvertible {
  /// The longest, octets.
  package static let limit = 200

  /// Comes after every octet of a path.
  package static let last = "~"

  package let description: String

  /// Segments of letters, digits, `-`, `_` and `.`, parted by `/`; nil for anything else, for a segment that is empty
  /// or begins with a dot, and for more than 200 octets.
  package init?(_ text: String) {
    guard text.utf8.count <= Self.limit else { return nil }
    for segment in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let first = segment.first, first != UInt8(ascii: "."), segment.allSatisfy(Self.isPlain) else {
        return nil
      }
    }
    description = text
  }

  /// What stands behind the last slash.
  package var name: String {
    description.split(separator: "/").last.map { String($0) } ?? description
  }

  private static func isPlain(_ octet: UInt8) -> Bool {
    switch octet {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
