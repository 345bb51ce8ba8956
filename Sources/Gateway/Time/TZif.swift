/// The transitions and the footer of a TZif file (RFC 8536 §3).
struct TZif {
  private(set) var transitions: [Int64] = []
  /// One more than `transitions`: before the first, and from each on.
  private(set) var offsets: [Int64] = []
  private(set) var rule: POSIXTimeZone?

  private struct Header {
    let version: UInt8
    let utCount, standardCount, leapCount, timeCount, typeCount, characterCount: Int

    static let length = 44

    func dataLength(timeSize: Int) -> Int {
      timeCount * (timeSize + 1) + typeCount * 6 + characterCount + leapCount * (timeSize + 4) + standardCount
        + utCount
    }
  }

  init(_ bytes: [UInt8]) throws(TimeZoneError) {
    // The largest real file has 4 KB; with this bound no sum of counts can overflow a search.
    guard bytes.count <= 1 << 20 else { throw .malformed }
    let first = try Self.header(bytes, at: 0)
    guard first.version >= UInt8(ascii: "2") else { throw .version1 }
    let start = Header.length + first.dataLength(timeSize: 4)
    let header = try Self.header(bytes, at: start)
    guard header.version == first.version else { throw .malformed }
    let data = start + Header.length
    let end = data + header.dataLength(timeSize: 8)
    guard end <= bytes.count, header.typeCount > 0 else { throw .malformed }
    try readData(bytes, header, at: data)
    try readFooter(bytes, at: end)
  }

  private static func header(_ bytes: [UInt8], at start: Int) throws(TimeZoneError) -> Header {
    guard start >= 0, start + Header.length <= bytes.count else {
      throw bytes.starts(with: "TZif".utf8) ? .malformed : .notTZif
    }
    guard bytes[start...].starts(with: "TZif".utf8) else { throw start == 0 ? .notTZif : .malformed }
    var counts: [Int] = []
    for index in 0..<6 {
      let count = Int(integer(bytes, at: start + 20 + index * 4, size: 4))
      guard count >= 0, count <= bytes.count else { throw .malformed }
      counts.append(count)
    }
    return Header(
      version: bytes[start + 4], utCount: counts[0], standardCount: counts[1], leapCount: counts[2],
      timeCount: counts[3], typeCount: counts[4], characterCount: counts[5])
  }

  private mutating func readData(
    _ bytes: [UInt8], _ header: Header, at start: Int
  ) throws(TimeZoneError) {
    let indices = start + header.timeCount * 8
    let types = indices + header.timeCount
    func offset(ofType type: Int) throws(TimeZoneError) -> Int64 {
      guard type < header.typeCount else { throw .malformed }
      let offset = Self.integer(bytes, at: types + type * 6, size: 4)
      guard (-89_999...93_599).contains(offset) else { throw .malformed }
      return offset
    }
    offsets = [try offset(ofType: 0)]
    for index in 0..<header.timeCount {
      let time = Self.integer(bytes, at: start + index * 8, size: 8)
      if let last = transitions.last, time <= last { throw .malformed }
      transitions.append(time)
      offsets.append(try offset(ofType: Int(bytes[indices + index])))
    }
  }

  private mutating func readFooter(_ bytes: [UInt8], at start: Int) throws(TimeZoneError) {
    guard start < bytes.count, bytes[start] == 0x0A else { throw .malformed }
    let rest = bytes[(start + 1)...]
    guard let end = rest.firstIndex(of: 0x0A) else { throw .malformed }
    guard end > rest.startIndex else { return }
    guard let rule = POSIXTimeZone(Array(rest[..<end])) else { throw .footer }
    self.rule = rule
  }

  /// A signed integer in network order.
  private static func integer(_ bytes: [UInt8], at start: Int, size: Int) -> Int64 {
    var value: UInt64 = bytes[start] & 0x80 == 0 ? 0 : .max
    for byte in bytes[start..<(start + size)] { value = value << 8 | UInt64(byte) }
    return Int64(bitPattern: value)
  }
}
