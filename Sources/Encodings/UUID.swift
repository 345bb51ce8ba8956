/// A UUID (RFC 9562) as its 16 octets.
public struct UUID: Sendable, Hashable, CustomStringConvertible {
  /// The octets in network order.
  public let octets: [UInt8]

  /// A version 4 UUID of 16 random octets, of which six bits are overwritten (RFC 9562 §5.4); nil for another
  /// number of octets.
  public init?(random octets: [UInt8]) {
    guard octets.count == 16 else { return nil }
    var octets = octets
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    self.octets = octets
  }

  /// These 16 octets; nil for another number.
  public init?(octets: [UInt8]) {
    guard octets.count == 16 else { return nil }
    self.octets = octets
  }

  /// The text form (RFC 9562 §4), in either case of letters; nil for anything else.
  public init?(_ text: some StringProtocol) {
    let text = Array(text.utf8)
    guard text.count == 36 else { return nil }
    for index in [8, 13, 18, 23] where text[index] != UInt8(ascii: "-") { return nil }
    let digits = text.filter { $0 != UInt8(ascii: "-") }
    guard digits.count == 32, let octets = Hex.decode(String(decoding: digits, as: UTF8.self)) else {
      return nil
    }
    self.octets = octets
  }

  /// 36 characters, lowercase.
  public var description: String {
    let digits = Hex.encode(octets)
    var out = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { out.append("-") }
      out.append(digit)
    }
    return out
  }
}
