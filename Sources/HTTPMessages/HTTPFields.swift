/// Header fields (RFC 9110 §5) in the order in which they came.
public struct HTTPFields: Sendable, Equatable {
  /// One field line.
  public struct Field: Sendable, Equatable {
    /// The name as it was spelled; compared without regard to ASCII case.
    public var name: String
    /// The value without blanks around it.
    public var value: String

    /// A field line.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The lines in order.
  public private(set) var lines: [Field]

  /// No fields.
  public init() { lines = [] }

  /// These fields in this order.
  public init(_ fields: [(String, String)]) { lines = fields.map { Field(name: $0.0, value: $0.1) } }

  /// Makes room for so many lines at once.
  public mutating func reserveCapacity(_ count: Int) { lines.reserveCapacity(count) }

  /// The first value of that name; setting replaces every line of the name, nil removes them.
  public subscript(name: String) -> String? {
    get { lines.first { Self.same($0.name, name) }?.value }
    set {
      guard let newValue else { return remove(name) }
      guard let index = lines.firstIndex(where: { Self.same($0.name, name) }) else {
        return append(name, newValue)
      }
      lines[index].value = newValue
      let rest = lines[(index + 1)...].filter { !Self.same($0.name, name) }
      lines.replaceSubrange((index + 1)..., with: rest)
    }
  }

  /// Every value of that name, in order.
  public func values(_ name: String) -> [String] {
    var values: [String] = []
    for line in lines where Self.same(line.name, name) { values.append(line.value) }
    return values
  }

  /// One more line.
  public mutating func append(_ name: String, _ value: String) {
    lines.append(Field(name: name, value: value))
  }

  /// Drops every line of that name.
  public mutating func remove(_ name: String) {
    lines.removeAll { Self.same($0.name, name) }
  }

  /// Whether two field names are one (RFC 9110 §5.1: ASCII case does not matter).
  public static func same(_ left: String, _ right: String) -> Bool {
    let left = left.utf8
    let right = right.utf8
    guard left.count == right.count else { return false }
    for (a, b) in zip(left, right) where a != b {
      guard a | 0x20 == b | 0x20, a | 0x20 >= 0x61, a | 0x20 <= 0x7A else { return false }
    }
    return true
  }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
  /// Fields in the order of the literal.
  public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }
}
