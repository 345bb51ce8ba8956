import HTTPMessages

/// Reads a request head out of octets that come in pieces cut anywhere (RFC 9112 §2 to §5).
///
/// Lines are judged as they end, so that the verdict does not depend on the cuts. One empty line before the
/// request line is skipped (RFC 9112 §2.2).
struct RequestHeadParser: Sendable {
  /// The most octets of a head.
  let limit: Int
  /// The most field lines.
  let fieldLimit: Int

  private var head = HTTPRequestHead()
  private var position = 0
  private var lineStart = 0
  private var afterReturn = false
  private var hasRequestLine = false
  private var skippedEmptyLine = false
  private var hasHost = false
  private var length: Int?
  private var hasCoding = false
  private var codingIsChunked = false

  init(limit: Int, fieldLimit: Int) {
    self.limit = limit
    self.fieldLimit = fieldLimit
  }

  /// The head, once its octets are here; they are taken out of the queue then. Nil while some are missing.
  mutating func read(_ input: inout ByteQueue) throws(HTTPRefusal) -> HTTPRequestHead? {
    while let end = try nextLine(input) {
      let base = input.start
      let line = input.storage[(base + lineStart)..<(base + end)]
      lineStart = position
      if !line.isEmpty {
        if hasRequestLine { try readField(line) } else { try readRequestLine(line) }
      } else if hasRequestLine {
        try finish()
        input.drop(position)
        defer { self = RequestHeadParser(limit: limit, fieldLimit: fieldLimit) }
        return head
      } else if skippedEmptyLine {
        throw .malformedRequestLine
      } else {
        skippedEmptyLine = true
      }
    }
    return nil
  }

  /// Scans on to the end of a line and returns where its CR stands.
  private mutating func nextLine(_ input: ByteQueue) throws(HTTPRefusal) -> Int? {
    let bytes = input.storage
    let base = input.start
    let available = bytes.count - base
    let end = min(available, limit)
    var position = self.position
    defer { self.position = position }
    if afterReturn, position < end {
      afterReturn = false
      guard bytes[base + position] == 0x0A else { throw .bareCarriageReturn }
      position += 1
      return position - 2
    }
    while true {
      position = Self.firstControl(bytes, base + position, base + end) - base
      guard position < end else { break }
      let byte = bytes[base + position]
      position += 1
      if byte == 0x0D {
        guard position < end else {
          afterReturn = true
          break
        }
        guard bytes[base + position] == 0x0A else { throw .bareCarriageReturn }
        position += 1
        return position - 2
      }
      if byte == 0x0A { throw .bareLineFeed }
      if byte != 0x09 { throw .controlCharacter }
    }
    if available > limit || position == limit { throw .headTooLarge }
    return nil
  }

  /// Where the first octet below 0x20, or 0x7F, stands; `end` where there is none. Eight octets at a time.
  private static func firstControl(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Int {
    unsafe bytes.withUnsafeBytes { bytes in
      var index = start
      while end - index >= 8 {
        let word = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        let below = (word &- 0x2020_2020_2020_2020) & ~word
        let marks = word ^ 0x7F7F_7F7F_7F7F_7F7F
        // The borrow of one octet reaches only those after it, so that the first hit is a true one.
        let hits = (below | (marks &- 0x0101_0101_0101_0101) & ~marks) & 0x8080_8080_8080_8080
        if hits != 0 { return index + hits.trailingZeroBitCount / 8 }
        index += 8
      }
      while index < end, unsafe bytes[index] >= 0x20, unsafe bytes[index] != 0x7F { index += 1 }
      return index
    }
  }

  private mutating func readRequestLine(_ line: ArraySlice<UInt8>) throws(HTTPRefusal) {
    guard let first = line.firstIndex(of: 0x20), let last = line.lastIndex(of: 0x20), first < last else {
      throw .malformedRequestLine
    }
    let method = line[..<first]
    let target = line[(first + 1)..<last]
    guard (1...32).contains(method.count), method.allSatisfy(RequestTarget.isToken) else {
      throw .malformedRequestLine
    }
    let version = line[(last + 1)...]
    if version.elementsEqual("HTTP/1.0".utf8) {
      head.isOldVersion = true
      head.keepsAlive = false
    } else if !version.elementsEqual("HTTP/1.1".utf8) {
      let digits = version.dropFirst(5)
      let isVersion =
        version.starts(with: "HTTP/".utf8) && digits.count == 3 && digits.dropFirst().first == 0x2E
        && digits.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
      throw isVersion ? .unsupportedVersion : .malformedRequestLine
    }
    guard RequestTarget.isPlain(target, method: method) else { throw .malformedTarget }
    head.method = HTTPMethod(rawValue: String(decoding: method, as: UTF8.self))
    head.target = String(decoding: target, as: UTF8.self)
    hasRequestLine = true
    head.fields.reserveCapacity(16)
  }

  private mutating func readField(_ line: ArraySlice<UInt8>) throws(HTTPRefusal) {
    if line.first == 0x20 || line.first == 0x09 { throw .foldedField }
    guard head.fields.lines.count < fieldLimit else { throw .tooManyFields }
    guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex else { throw .malformedField }
    let name = line[..<colon]
    guard name.allSatisfy(RequestTarget.isToken) else { throw .malformedField }
    var value = line[(colon + 1)...]
    while value.first == 0x20 || value.first == 0x09 { value.removeFirst() }
    while value.last == 0x20 || value.last == 0x09 { value.removeLast() }
    guard let text = String(validating: value, as: UTF8.self) else { throw .malformedField }
    switch name.count {
    case 4 where Self.same(name, "host"): try readHost(value, text)
    case 6 where Self.same(name, "expect"):
      guard Self.same(value, "100-continue") else { throw .unknownExpectation }
      head.expectsContinue = !head.isOldVersion
    case 10 where Self.same(name, "connection"):
      for option in value.split(separator: UInt8(ascii: ",")) {
        let trimmed = option.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 }
        if Self.same(trimmed, "close") { head.keepsAlive = false }
      }
    case 14 where Self.same(name, "content-length"): try readLength(value)
    case 17 where Self.same(name, "transfer-encoding"):
      guard !hasCoding else { throw .repeatedCoding }
      hasCoding = true
      codingIsChunked = Self.same(value, "chunked")
    default: break
    }
    head.fields.append(String(decoding: name, as: UTF8.self), text)
  }

  private mutating func readHost(_ value: ArraySlice<UInt8>, _ text: String) throws(HTTPRefusal) {
    guard !hasHost else { throw .repeatedHost }
    guard RequestTarget.isAuthority(value) else { throw .malformedHost }
    hasHost = true
    head.authority = text
  }

  private mutating func readLength(_ value: ArraySlice<UInt8>) throws(HTTPRefusal) {
    guard length == nil else { throw .repeatedLength }
    // Eighteen digits are below Int.max, so that nothing can overflow.
    guard (1...18).contains(value.count) else { throw .malformedLength }
    var number = 0
    for byte in value {
      guard (0x30...0x39).contains(byte) else { throw .malformedLength }
      number = number * 10 + Int(byte - 0x30)
    }
    length = number
  }

  private mutating func finish() throws(HTTPRefusal) {
    guard hasHost || head.isOldVersion else { throw .missingHost }
    if hasCoding {
      if head.isOldVersion { throw .codingInOldVersion }
      if length != nil { throw .lengthAndCoding }
      guard codingIsChunked else { throw .unsupportedCoding }
      head.framing = .chunked
    } else if let length, length > 0 {
      head.framing = .length(length)
    } else {
      head.expectsContinue = false
    }
  }

  /// Whether the octets are that lower-case word, whatever their ASCII case.
  private static func same(_ bytes: ArraySlice<UInt8>, _ word: StaticString) -> Bool {
    guard bytes.count == word.utf8CodeUnitCount else { return false }
    return word.withUTF8Buffer { word in
      for (offset, byte) in bytes.enumerated() {
        let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
        if unsafe lower != word[offset] { return false }
      }
      return true
    }
  }
}
