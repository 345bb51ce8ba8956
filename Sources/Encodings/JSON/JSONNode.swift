/// A value of a JSON text that was read, with its place in the text, so that a policy can change one value
/// by splicing and forward every other byte as it came.
public struct JSONNode: Sendable, Equatable {
  /// What stands at the place.
  public indirect enum Content: Sendable, Equatable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// The number as it is spelled: its precision is the reader's business.
    case number(String)
    /// The text after escapes are decoded.
    case string(String)
    /// The elements in order.
    case array([JSONNode])
    /// The members in order; the names are unique after decoding escapes.
    case object([Member])
  }

  /// A name and its value.
  public struct Member: Sendable, Equatable {
    /// The decoded name.
    public let name: String
    /// Where the name stands, with its quotes.
    public let nameRange: Range<Int>
    /// The value.
    public let value: JSONNode
  }

  /// What stands here.
  public let content: Content
  /// The octets of the text that spell it, without blanks around it.
  public let range: Range<Int>

  /// The member's value, where this is an object that has it.
  public subscript(name: String) -> JSONNode? { members?.first { $0.name == name }?.value }
  /// The members, where this is an object.
  public var members: [Member]? { if case .object(let members) = content { members } else { nil } }
  /// The elements, where this is an array.
  public var elements: [JSONNode]? { if case .array(let elements) = content { elements } else { nil } }
  /// The text, where this is a string.
  public var string: String? { if case .string(let text) = content { text } else { nil } }
  /// The truth value, where this is one.
  public var bool: Bool? { if case .bool(let value) = content { value } else { nil } }
  /// True where this is `null`.
  public var isNull: Bool { content == .null }
  /// The whole number, where this is one that is spelled without fraction and exponent and fits.
  public var integer: Int64? { if case .number(let text) = content { Int64(text) } else { nil } }
  /// The number as a binary fraction, where this is one. Not for money.
  public var double: Double? { if case .number(let text) = content { Double(text) } else { nil } }
  /// What stands here, without its places.
  public var value: JSONValue {
    switch content {
    case .null: .null
    case .bool(let value): .bool(value)
    case .number(let text): .number(text)
    case .string(let text): .string(text)
    case .array(let elements): .array(elements.map(\.value))
    case .object(let members): .object(members.map { ($0.name, $0.value.value) })
    }
  }
}

/// Why a text is not JSON, and where.
public struct JSONSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What is wrong; open, for new reasons may come.
  public enum Reason: String, Sendable {
    /// The text ends inside a value.
    case unexpectedEnd = "the text ends too early"
    /// A character that cannot stand here.
    case unexpectedCharacter = "unexpected character"
    /// Something follows the value.
    case trailingContent = "something follows the value"
    /// An object has two members of one name, after escapes are decoded.
    case duplicateName = "duplicate name"
    /// The octets are no UTF-8, or an escape names half of a surrogate pair.
    case invalidText = "invalid text encoding"
    /// A number that RFC 8259 does not allow.
    case invalidNumber = "invalid number"
    /// An escape that RFC 8259 does not allow.
    case invalidEscape = "invalid escape"
    /// A control character inside a string.
    case controlCharacter = "control character in a string"
    /// Arrays and objects are nested beyond the limit.
    case tooDeep = "nested too deeply"
  }

  /// What is wrong.
  public let reason: Reason
  /// The octet at which it was noticed, from 0.
  public let offset: Int
  /// The line, from 1.
  public let line: Int
  /// The octet in the line, from 1.
  public let column: Int
  /// One line for a person; holds nothing of the text itself.
  public var description: String { "\(reason.rawValue) at line \(line), column \(column)" }
}
