/// Writes numbers and texts in few octets, for rows of which there are many: numbers with 7 bits an octet, least first;
/// signed ones as zigzag.
package struct CompactWriter: Sendable {
  package private(set) var octets: [UInt8] = []

  package init(capacity: Int) { octets.reserveCapacity(capacity) }

  package mutating func append(_ octet: UInt8) { octets.append(octet) }

  package mutating func append(unsigned value: UInt64) {
    var value = value
    while value > 127 {
      octets.append(UInt8(truncatingIfNeeded: value) | 128)
      value >>= 7
    }
    octets.append(UInt8(truncatingIfNeeded: value))
  }

  package mutating func append(_ value: Int64) {
    append(unsigned: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  /// Its length, then its UTF-8.
  package mutating func append(_ text: String) {
    let utf8 = text.utf8
    append(unsigned: UInt64(utf8.count))
    octets.append(contentsOf: utf8)
  }

  /// nil is an octet of its own.
  package mutating func append(_ text: String?) {
    octets.append(text == nil ? 0 : 1)
    if let text { append(text) }
  }

  /// nil is an octet of its own.
  package mutating func append(_ value: Int64?) {
    octets.append(value == nil ? 0 : 1)
    if let value { append(value) }
  }
}

/// Reads what ``CompactWriter`` wrote. Everything is nil, or throws, where that is not there.
package struct CompactReader: Sendable {
  package struct Malformed: Error {}

  private var rest: ArraySlice<UInt8>

  package init(_ octets: [UInt8]) { rest = octets[...] }

  package var isAtEnd: Bool { rest.isEmpty }

  package mutating func octet() -> UInt8? { rest.popFirst() }

  package mutating func unsigned() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let octet = rest.popFirst(), shift < 64 {
      value |= UInt64(octet & 127) << shift
      if octet < 128 { return value }
      shift += 7
    }
    return nil
  }

  package mutating func signed() -> Int64? {
    unsigned().map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
  }

  package mutating func number() throws(Malformed) -> Int64 {
    guard let value = signed() else { throw Malformed() }
    return value
  }

  package mutating func text() throws(Malformed) -> String {
    guard let length = unsigned().flatMap({ Int(exactly: $0) }), length <= rest.count else {
      throw Malformed()
    }
    defer { rest = rest.dropFirst(length) }
    return String(decoding: rest.prefix(length), as: UTF8.self)
  }

  package mutating func optionalText() throws(Malformed) -> String? { try isThere() ? try text() : nil }

  package mutating func optionalNumber() throws(Malformed) -> Int64? { try isThere() ? try number() : nil }

  /// Whether an octet says that something follows.
  package mutating func isThere() throws(Malformed) -> Bool {
    switch rest.popFirst() {
    case 0: return false
    case 1: return true
    default: throw Malformed()
    }
  }
}
