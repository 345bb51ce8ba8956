/// Why octets are no CBOR that is accepted.
package enum CBORError: Error, Equatable, Sendable {
  /// The octets end inside a value.
  case truncated
  /// Something follows the value.
  case trailingContent
  /// A string, array or map without a length.
  case indefiniteLength
  /// A number in a longer form than it needs.
  case notShortest
  /// A head that RFC 8949 reserves.
  case reserved
  /// A text that is no UTF-8.
  case invalidText
  /// A map has two equal keys.
  case duplicateKey
  /// Nested beyond the limit.
  case tooDeep
  /// An array or map with more elements than the limit.
  case tooManyElements
}

/// A strict and total reader of CBOR: definite lengths in their shortest form, no equal keys, bounded depth
/// and size. Readers that disagree about a byte string disagree about what was signed. It cannot trap on any
/// input.
package struct CBORReader: Sendable {
  /// How many arrays, maps and tags may be open at once.
  package static let maximumDepth = 8
  /// How many elements, or keys, one array or map may have; equal keys are found by comparing all.
  package static let maximumElements = 64

  /// What was not read yet.
  package private(set) var rest: ArraySlice<UInt8>

  /// Reads what stands in `bytes`.
  package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// The one value that `bytes` are, with nothing after it.
  package static func single(_ bytes: ArraySlice<UInt8>) throws(CBORError) -> CBORValue {
    var reader = CBORReader(bytes)
    let value = try reader.next()
    guard reader.rest.isEmpty else { throw .trailingContent }
    return value
  }

  /// The next value.
  package mutating func next() throws(CBORError) -> CBORValue { try value(depth: 0) }

  private mutating func value(depth: Int) throws(CBORError) -> CBORValue {
    guard let head = rest.popFirst() else { throw .truncated }
    let (kind, information) = (head >> 5, head & 0x1F)
    if kind == 7 { return try simpleOrFloat(information) }
    let argument = try argument(information)
    switch kind {
    case 0: return .unsigned(argument)
    case 1: return .negative(argument)
    case 2: return .bytes(try octets(argument))
    case 3:
      guard let text = String(validating: try octets(argument), as: UTF8.self) else { throw .invalidText }
      return .text(text)
    case 4:
      let count = try elementCount(argument, octetsEach: 1, depth: depth)
      var elements: [CBORValue] = []
      elements.reserveCapacity(count)
      for _ in 0..<count { elements.append(try value(depth: depth + 1)) }
      return .array(elements)
    case 5:
      let count = try elementCount(argument, octetsEach: 2, depth: depth)
      var entries: [CBORValue.Entry] = []
      entries.reserveCapacity(count)
      for _ in 0..<count {
        let key = try value(depth: depth + 1)
        if entries.contains(where: { $0.key == key }) { throw .duplicateKey }
        entries.append(CBORValue.Entry(key: key, value: try value(depth: depth + 1)))
      }
      return .map(entries)
    default:
      guard depth < Self.maximumDepth else { throw .tooDeep }
      return .tagged(argument, try value(depth: depth + 1))
    }
  }

  /// The number in the head or in the octets after it.
  private mutating func argument(_ information: UInt8) throws(CBORError) -> UInt64 {
    switch information {
    case 0...23: return UInt64(information)
    case 24: return try number(octets: 1, above: 23)
    case 25: return try number(octets: 2, above: UInt64(UInt8.max))
    case 26: return try number(octets: 4, above: UInt64(UInt16.max))
    case 27: return try number(octets: 8, above: UInt64(UInt32.max))
    case 31: throw .indefiniteLength
    default: throw .reserved
    }
  }

  private mutating func simpleOrFloat(_ information: UInt8) throws(CBORError) -> CBORValue {
    switch information {
    case 0...23: return .simple(information)
    case 24: return .simple(UInt8(truncatingIfNeeded: try number(octets: 1, above: 31)))
    case 25: return .float(try number(octets: 2))
    case 26: return .float(try number(octets: 4))
    case 27: return .float(try number(octets: 8))
    // A "break" outside of what it could break.
    case 31: throw .indefiniteLength
    default: throw .reserved
    }
  }

  /// A number of that many octets; one that is not `above` what the next shorter form holds is refused.
  private mutating func number(octets count: UInt64, above shorter: UInt64? = nil) throws(CBORError) -> UInt64
  {
    let number = try octets(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    if let shorter, number <= shorter { throw .notShortest }
    return number
  }

  private mutating func octets(_ count: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
    guard count <= UInt64(rest.count) else { throw .truncated }
    let octets = rest.prefix(Int(count))
    rest = rest.dropFirst(Int(count))
    return octets
  }

  private func elementCount(_ count: UInt64, octetsEach: Int, depth: Int) throws(CBORError) -> Int {
    guard depth < Self.maximumDepth else { throw .tooDeep }
    guard count <= UInt64(rest.count / octetsEach) else { throw .truncated }
    guard count <= UInt64(Self.maximumElements) else { throw .tooManyElements }
    return Int(count)
  }
}
