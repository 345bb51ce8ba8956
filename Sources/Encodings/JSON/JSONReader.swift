/// The strict reader of JSON (RFC 8259) that every request and the configuration go through.
///
/// It refuses what readers disagree about, since a value that two programs read differently is a way round
/// a policy: equal names (also `max\u005ftokens` beside `max_tokens`), octets that are no UTF-8, a byte order
/// mark, half surrogate pairs, trailing commas, and depth beyond a limit. It cannot trap on any input.
public struct JSONReader {
  /// Reads the whole of `bytes` as one value.
  ///
  /// - Parameters:
  ///   - comments: also `//` and `/* */` comments, as the configuration has (JSONC).
  ///   - maximumDepth: how many arrays and objects may be open at once.
  public static func read(
    _ bytes: [UInt8], comments: Bool = false, maximumDepth: Int = 64
  ) throws(JSONSyntaxError) -> JSONNode {
    var reader = JSONReader(bytes: bytes, comments: comments, maximumDepth: maximumDepth)
    try reader.skipBlanks()
    let node = try reader.value()
    try reader.skipBlanks()
    if reader.index != bytes.count { throw reader.failure(.trailingContent) }
    return node
  }

  private static let fewNames = 8

  private let bytes: [UInt8]
  private let comments: Bool
  private let maximumDepth: Int
  private var index = 0
  private var depth = 0

  private init(bytes: [UInt8], comments: Bool, maximumDepth: Int) {
    self.bytes = bytes
    self.comments = comments
    self.maximumDepth = maximumDepth
  }

  private func failure(_ reason: JSONSyntaxError.Reason, at offset: Int? = nil) -> JSONSyntaxError {
    let offset = min(offset ?? index, bytes.count)
    var line = 1
    var start = 0
    for position in 0..<offset where bytes[position] == 0x0A {
      line += 1
      start = position + 1
    }
    return JSONSyntaxError(reason: reason, offset: offset, line: line, column: offset - start + 1)
  }

  private mutating func skipBlanks() throws(JSONSyntaxError) {
    while index < bytes.count {
      switch bytes[index] {
      case 0x20, 0x09, 0x0A, 0x0D: index += 1
      case UInt8(ascii: "/") where comments: try skipComment()
      default: return
      }
    }
  }

  private mutating func skipComment() throws(JSONSyntaxError) {
    let start = index
    guard index + 1 < bytes.count else { throw failure(.unexpectedCharacter) }
    switch bytes[index + 1] {
    case UInt8(ascii: "/"):
      while index < bytes.count, bytes[index] != 0x0A { index += 1 }
    case UInt8(ascii: "*"):
      index += 2
      while true {
        guard index + 1 < bytes.count else { throw failure(.unexpectedEnd, at: start) }
        if bytes[index] == UInt8(ascii: "*"), bytes[index + 1] == UInt8(ascii: "/") { break }
        index += 1
      }
      index += 2
    default: throw failure(.unexpectedCharacter)
    }
  }

  private mutating func value() throws(JSONSyntaxError) -> JSONNode {
    guard index < bytes.count else { throw failure(.unexpectedEnd) }
    let start = index
    let content: JSONNode.Content
    switch bytes[index] {
    case UInt8(ascii: "{"): content = .object(try object())
    case UInt8(ascii: "["): content = .array(try array())
    case UInt8(ascii: "\""): content = .string(try string())
    case UInt8(ascii: "t"): content = try literal("true", .bool(true))
    case UInt8(ascii: "f"): content = try literal("false", .bool(false))
    case UInt8(ascii: "n"): content = try literal("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): content = .number(try number())
    default: throw failure(.unexpectedCharacter)
    }
    return JSONNode(content: content, range: start..<index)
  }

  private mutating func literal(
    _ text: StaticString, _ content: JSONNode.Content
  ) throws(JSONSyntaxError) -> JSONNode.Content {
    for character in text.description.utf8 {
      guard index < bytes.count else { throw failure(.unexpectedEnd) }
      guard bytes[index] == character else { throw failure(.unexpectedCharacter) }
      index += 1
    }
    return content
  }

  private mutating func enter() throws(JSONSyntaxError) {
    depth += 1
    if depth > maximumDepth { throw failure(.tooDeep) }
    index += 1
    try skipBlanks()
  }

  private mutating func object() throws(JSONSyntaxError) -> [JSONNode.Member] {
    try enter()
    var members: [JSONNode.Member] = []
    // Few names are compared faster than they are hashed.
    var names: Set<String> = []
    if try closes(UInt8(ascii: "}")) { return members }
    while true {
      let nameStart = index
      guard index < bytes.count else { throw failure(.unexpectedEnd) }
      guard bytes[index] == UInt8(ascii: "\"") else { throw failure(.unexpectedCharacter) }
      let name = try string()
      let nameRange = nameStart..<index
      // Swift compares strings by canonical equivalence, which is stricter than by octets: good here.
      let isNew: Bool
      if members.count < Self.fewNames {
        isNew = !members.contains { $0.name == name }
      } else {
        if names.isEmpty { names = Set(members.map(\.name)) }
        isNew = names.insert(name).inserted
      }
      if !isNew { throw failure(.duplicateName, at: nameStart) }
      try skipBlanks()
      try expect(UInt8(ascii: ":"))
      try skipBlanks()
      members.append(JSONNode.Member(name: name, nameRange: nameRange, value: try value()))
      try skipBlanks()
      if try closes(UInt8(ascii: "}")) { return members }
      try expect(UInt8(ascii: ","))
      try skipBlanks()
    }
  }

  private mutating func array() throws(JSONSyntaxError) -> [JSONNode] {
    try enter()
    var elements: [JSONNode] = []
    if try closes(UInt8(ascii: "]")) { return elements }
    while true {
      elements.append(try value())
      try skipBlanks()
      if try closes(UInt8(ascii: "]")) { return elements }
      try expect(UInt8(ascii: ","))
      try skipBlanks()
    }
  }

  private mutating func closes(_ bracket: UInt8) throws(JSONSyntaxError) -> Bool {
    guard index < bytes.count else { throw failure(.unexpectedEnd) }
    guard bytes[index] == bracket else { return false }
    index += 1
    depth -= 1
    return true
  }

  private mutating func expect(_ character: UInt8) throws(JSONSyntaxError) {
    guard index < bytes.count else { throw failure(.unexpectedEnd) }
    guard bytes[index] == character else { throw failure(.unexpectedCharacter) }
    index += 1
  }

  private mutating func number() throws(JSONSyntaxError) -> String {
    let start = index
    if bytes[index] == UInt8(ascii: "-") { index += 1 }
    let whole = index
    guard digits() else { throw failure(.invalidNumber, at: start) }
    if bytes[whole] == UInt8(ascii: "0"), index - whole > 1 { throw failure(.invalidNumber, at: start) }
    if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
      index += 1
      guard digits() else { throw failure(.invalidNumber, at: start) }
    }
    if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
      index += 1
      if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
        index += 1
      }
      guard digits() else { throw failure(.invalidNumber, at: start) }
    }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func digits() -> Bool {
    let start = index
    while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 { index += 1 }
    return index > start
  }

  private mutating func string() throws(JSONSyntaxError) -> String {
    let start = index
    index += 1
    let first = index
    while index < bytes.count, bytes[index] != UInt8(ascii: "\""), bytes[index] != UInt8(ascii: "\\") {
      if bytes[index] < 0x20 { throw failure(.controlCharacter) }
      index += 1
    }
    guard index < bytes.count else { throw failure(.unexpectedEnd) }
    if bytes[index] == UInt8(ascii: "\"") {
      index += 1
      return try text(Array(bytes[first..<(index - 1)]), at: start)
    }
    var decoded = Array(bytes[first..<index])
    while true {
      guard index < bytes.count else { throw failure(.unexpectedEnd) }
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\""):
        index += 1
        return try text(decoded, at: start)
      case UInt8(ascii: "\\"): try escape(into: &decoded)
      case 0..<0x20: throw failure(.controlCharacter)
      default:
        decoded.append(byte)
        index += 1
      }
    }
  }

  private func text(_ octets: [UInt8], at start: Int) throws(JSONSyntaxError) -> String {
    guard let text = String(validating: octets, as: UTF8.self) else { throw failure(.invalidText, at: start) }
    return text
  }

  private mutating func escape(into decoded: inout [UInt8]) throws(JSONSyntaxError) {
    guard index + 1 < bytes.count else { throw failure(.unexpectedEnd) }
    let character = bytes[index + 1]
    let simple: UInt8
    switch character {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): simple = character
    case UInt8(ascii: "b"): simple = 0x08
    case UInt8(ascii: "f"): simple = 0x0C
    case UInt8(ascii: "n"): simple = 0x0A
    case UInt8(ascii: "r"): simple = 0x0D
    case UInt8(ascii: "t"): simple = 0x09
    case UInt8(ascii: "u"):
      let scalar = try unicodeEscape()
      decoded.append(contentsOf: Array(String(Character(scalar)).utf8))
      return
    default: throw failure(.invalidEscape)
    }
    decoded.append(simple)
    index += 2
  }

  private mutating func unicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
    let start = index
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard (0xD800..<0xDC00).contains(first), index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"),
      bytes[index + 1] == UInt8(ascii: "u")
    else { throw failure(.invalidText, at: start) }
    let second = try codeUnit()
    guard (0xDC00..<0xE000).contains(second) else { throw failure(.invalidText, at: start) }
    let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
    guard let scalar = Unicode.Scalar(value) else { throw failure(.invalidText, at: start) }
    return scalar
  }

  /// Reads `\uXXXX`.
  private mutating func codeUnit() throws(JSONSyntaxError) -> UInt16 {
    guard index + 6 <= bytes.count else { throw failure(.unexpectedEnd) }
    var value: UInt16 = 0
    for position in (index + 2)..<(index + 6) {
      let digit = bytes[position]
      let nibble: UInt8
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = digit - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): nibble = digit - UInt8(ascii: "A") + 10
      default: throw failure(.invalidEscape)
      }
      value = value << 4 | UInt16(nibble)
    }
    index += 6
    return value
  }
}
