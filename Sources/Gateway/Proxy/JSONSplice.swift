import Encodings

/// Changes of a JSON text that leave every other octet as it came.
struct JSONSplice {
  private var edits: [(range: Range<Int>, replacement: [UInt8])] = []

  var isEmpty: Bool { edits.isEmpty }

  /// Puts a value in the place of one that was read.
  mutating func replace(_ node: JSONNode, with value: JSONValue) {
    edits.append((node.range, value.bytes))
  }

  /// Puts a member in front of an object that has at least one.
  mutating func insert(_ name: String, _ value: JSONValue, into object: JSONNode) {
    guard let members = object.members, !members.isEmpty else { return }
    let place = object.range.lowerBound + 1
    edits.append((place..<place, JSONValue.string(name).bytes + [0x3A] + value.bytes + [0x2C]))
  }

  /// The text with the changes; nil when two of them overlap.
  func apply(to bytes: [UInt8]) -> [UInt8]? {
    var out: [UInt8] = []
    out.reserveCapacity(edits.reduce(bytes.count) { $0 + $1.replacement.count })
    var position = 0
    for (range, replacement) in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      guard range.lowerBound >= position, range.upperBound <= bytes.count else { return nil }
      out.append(contentsOf: bytes[position..<range.lowerBound])
      out.append(contentsOf: replacement)
      position = range.upperBound
    }
    out.append(contentsOf: bytes[position...])
    return out
  }
}
