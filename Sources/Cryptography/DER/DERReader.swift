/// Why octets are no DER, or not the value that was asked for.
package enum DERError: Error, Equatable, Sendable {
  /// The octets end inside a value.
  case truncated
  /// A length or tag that is not in its shortest form, an indefinite length, or one that no array can have.
  case notDistinguished
  /// Another type stands here.
  case unexpectedTag
  /// Something follows the value.
  case trailingContent
  /// A value that its type does not allow, or that is beyond what this reader takes.
  case invalidValue
}

/// A value of DER with its contents still encoded.
package struct DERElement: Sendable, Equatable {
  package let tag: DERTag
  /// The contents octets.
  package let content: ArraySlice<UInt8>
  /// Identifier, length and contents.
  package let encoding: ArraySlice<UInt8>

  /// A reader of what this constructed value contains.
  package var reader: DERReader {
    get throws(DERError) {
      guard tag.isConstructed else { throw .unexpectedTag }
      return DERReader(content)
    }
  }

  /// The contents of an OCTET STRING.
  package var octets: ArraySlice<UInt8> {
    get throws(DERError) {
      guard tag == .octetString else { throw .unexpectedTag }
      return content
    }
  }

  /// The value of an INTEGER of at most eight octets.
  package var integer: Int64 {
    get throws(DERError) {
      guard tag == .integer else { throw .unexpectedTag }
      guard let first = content.first, content.count <= 8 else { throw .invalidValue }
      if content.count > 1 {
        let second = content[content.startIndex + 1]
        let redundant = (first == 0 && second < 0x80) || (first == 0xFF && second >= 0x80)
        if redundant { throw .notDistinguished }
      }
      var value: Int64 = first >= 0x80 ? -1 : 0
      for octet in content { value = value << 8 | Int64(octet) }
      return value
    }
  }
}

/// A strict reader of DER (X.690 §10) that goes value by value and descends only where it is told to, so
/// that no input can make it recurse. It cannot trap on any input.
package struct DERReader: Sendable {
  private var rest: ArraySlice<UInt8>

  /// Reads what stands in `bytes`.
  package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Reads what stands in `bytes`.
  package init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// Whether everything was read.
  package var isAtEnd: Bool { rest.isEmpty }

  /// The one value that `bytes` are, with nothing after it.
  package static func single(_ bytes: ArraySlice<UInt8>) throws(DERError) -> DERElement {
    var reader = DERReader(bytes)
    let element = try reader.next()
    guard reader.isAtEnd else { throw .trailingContent }
    return element
  }

  /// The next value; throws `truncated` at the end.
  package mutating func next() throws(DERError) -> DERElement {
    var cursor = rest
    let tag = try Self.tag(&cursor)
    let length = try Self.length(&cursor)
    guard length <= cursor.count else { throw .truncated }
    let content = cursor.prefix(length)
    let element = DERElement(
      tag: tag, content: content, encoding: rest[rest.startIndex..<content.endIndex])
    rest = cursor.dropFirst(length)
    return element
  }

  /// The next value, which must have that tag.
  package mutating func next(_ tag: DERTag) throws(DERError) -> DERElement {
    let element = try next()
    guard element.tag == tag else { throw .unexpectedTag }
    return element
  }

  private static func octet(_ cursor: inout ArraySlice<UInt8>) throws(DERError) -> UInt8 {
    guard let octet = cursor.popFirst() else { throw .truncated }
    return octet
  }

  private static func tag(_ cursor: inout ArraySlice<UInt8>) throws(DERError) -> DERTag {
    let first = try octet(&cursor)
    guard let kind = DERTag.Class(rawValue: first >> 6) else { throw .invalidValue }
    var number = UInt32(first & 0x1F)
    if number == 0x1F {
      number = 0
      var isFirst = true
      while true {
        let next = try octet(&cursor)
        if isFirst, next == 0x80 { throw .notDistinguished }
        isFirst = false
        guard number < 1 << 24 else { throw .invalidValue }
        number = number << 7 | UInt32(next & 0x7F)
        if next < 0x80 { break }
      }
      guard number >= 0x1F else { throw .notDistinguished }
    }
    return DERTag(class: kind, isConstructed: first & 0x20 != 0, number: number)
  }

  private static func length(_ cursor: inout ArraySlice<UInt8>) throws(DERError) -> Int {
    let first = try octet(&cursor)
    if first < 0x80 { return Int(first) }
    let count = Int(first & 0x7F)
    guard (1...4).contains(count) else { throw .notDistinguished }
    var length = 0
    for _ in 0..<count { length = length << 8 | Int(try octet(&cursor)) }
    guard length >= 0x80, count == 1 || length >> (8 * (count - 1)) != 0 else { throw .notDistinguished }
    return length
  }
}
