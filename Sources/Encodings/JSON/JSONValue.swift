/// A JSON value to be written. Members keep their order.
public indirect enum JSONValue: Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number as it is to be spelled.
  case number(String)
  /// A text.
  case string(String)
  /// The elements.
  case array([JSONValue])
  /// The members in order.
  case object([(String, JSONValue)])

  /// A whole number.
  public static func integer(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

  /// The compact spelling in UTF-8.
  public var bytes: [UInt8] {
    var out: [UInt8] = []
    write(into: &out, indentation: nil)
    return out
  }

  /// The compact spelling.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// A spelling for people: a member a line, two blanks a level.
  public var prettyText: String {
    var out: [UInt8] = []
    write(into: &out, indentation: 0)
    return String(decoding: out, as: UTF8.self)
  }

  private func write(into out: inout [UInt8], indentation: Int?) {
    switch self {
    case .null: out.append(contentsOf: "null".utf8)
    case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
    case .number(let text): out.append(contentsOf: text.utf8)
    case .string(let text): Self.write(text, into: &out)
    case .array(let elements):
      Self.write(elements, "[", "]", into: &out, indentation: indentation) { element, out, inner in
        element.write(into: &out, indentation: inner)
      }
    case .object(let members):
      Self.write(members, "{", "}", into: &out, indentation: indentation) { member, out, inner in
        Self.write(member.0, into: &out)
        out.append(contentsOf: (inner == nil ? ":" : ": ").utf8)
        member.1.write(into: &out, indentation: inner)
      }
    }
  }

  private static func write<Element>(
    _ elements: [Element], _ open: String, _ close: String, into out: inout [UInt8], indentation: Int?,
    each: (Element, inout [UInt8], Int?) -> Void
  ) {
    out.append(contentsOf: open.utf8)
    let inner = indentation.map { $0 + 1 }
    for (position, element) in elements.enumerated() {
      if position > 0 { out.append(UInt8(ascii: ",")) }
      if let inner { newLine(inner, into: &out) }
      each(element, &out, inner)
    }
    if let indentation, !elements.isEmpty { newLine(indentation, into: &out) }
    out.append(contentsOf: close.utf8)
  }

  private static func newLine(_ indentation: Int, into out: inout [UInt8]) {
    out.append(0x0A)
    out.append(contentsOf: repeatElement(0x20, count: indentation * 2))
  }

  private static func write(_ text: String, into out: inout [UInt8]) {
    out.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): out.append(contentsOf: [UInt8(ascii: "\\"), byte])
      case 0x0A: out.append(contentsOf: "\\n".utf8)
      case 0x0D: out.append(contentsOf: "\\r".utf8)
      case 0x09: out.append(contentsOf: "\\t".utf8)
      case 0..<0x20, 0x7F: out.append(contentsOf: "\\u00\(Hex.encode([byte]))".utf8)
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A truth value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// An array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// An object; members keep the order of the literal.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(elements) }
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
}

extension JSONValue: Equatable {
  /// Equal spelling, member order included.
  public static func == (left: JSONValue, right: JSONValue) -> Bool { left.bytes == right.bytes }
}
