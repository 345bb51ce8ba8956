import HTTPMessages

/// The head of a response, read line by line as libcurl hands it over. Pure.
struct IncomingHead {
  /// What a line brought about.
  enum Step: Equatable {
    /// More lines are needed.
    case more
    /// The head of the final response is whole.
    case complete
    /// Not a head that can be passed on, or too long.
    case invalid
  }

  private(set) var status = 0
  private(set) var fields = HTTPFields()
  /// The announced length, where it can be relied on.
  private(set) var length: Int?
  private(set) var isComplete = false

  private let limit: Int
  private var size = 0
  private var line: (name: String, value: String)?

  init(limit: Int) { self.limit = limit }

  /// Whether a response to that method has no body (RFC 9112 §6.3).
  func hasNoBody(toHead: Bool) -> Bool {
    toHead || status == 204 || status == 304 || length == 0
  }

  /// Takes one line with its line end.
  mutating func read(_ bytes: [UInt8]) -> Step {
    // Lines after the head are trailers: nobody asked for them.
    if isComplete { return .more }
    size += bytes.count
    guard size <= limit else { return .invalid }
    var text = bytes[...]
    if text.last == 0x0A { text = text.dropLast() }
    if text.last == 0x0D { text = text.dropLast() }
    if text.starts(with: "HTTP/".utf8) && line == nil && fields.lines.isEmpty { return readStatus(text) }
    guard status != 0 else { return .invalid }
    if text.isEmpty { return end() }
    if let first = text.first, first == 0x20 || first == 0x09 {
      // A folded line (RFC 9112 §5.2) goes on with the value before it.
      line?.value += " " + Self.trimmed(text)
      return .more
    }
    keepLine()
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return .more }
    line = (String(decoding: text[..<colon], as: UTF8.self), Self.trimmed(text[(colon + 1)...]))
    return .more
  }

  private mutating func readStatus(_ text: ArraySlice<UInt8>) -> Step {
    let parts = text.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[0].starts(with: "HTTP/1.".utf8), parts[1].count == 3,
      let number = Int(String(decoding: parts[1], as: UTF8.self)), 100...599 ~= number, number != 101
    else { return .invalid }
    status = number
    return .more
  }

  private mutating func end() -> Step {
    keepLine()
    if status < 200 {
      // An interim response (RFC 9110 §15.2): the final one follows.
      status = 0
      fields = HTTPFields()
      return .more
    }
    let lengths = Set(fields.values("content-length"))
    if fields["transfer-encoding"] == nil, lengths.count == 1, let text = lengths.first,
      text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    {
      length = Int(text)
    }
    isComplete = true
    return .complete
  }

  /// The fields without those that frame the message or concern this connection alone; a response to HEAD
  /// keeps its length, which tells of the content that GET would give.
  func passedFields(toHead: Bool) -> HTTPFields {
    var passed = fields
    var dropped = [
      "transfer-encoding", "connection", "keep-alive", "proxy-connection", "trailer", "upgrade", "te",
      "proxy-authenticate",
    ]
    if !toHead { dropped.append("content-length") }
    for name in dropped { passed.remove(name) }
    return passed
  }

  private mutating func keepLine() {
    guard let line else { return }
    self.line = nil
    // What cannot be sent on as a field line is left out.
    let isToken = line.name.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") }
    guard !line.name.isEmpty, isToken, line.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
    else { return }
    fields.append(line.name, line.value)
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    var bytes = bytes.drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes = bytes.dropLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
