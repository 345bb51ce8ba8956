/// Base64 by RFC 4648, over bytes.
///
/// Decoding is for values that other programs spell as they like (an App Attest key id comes as standard,
/// as URL-safe, padded and unpadded base64): it accepts every spelling of the same bytes, and nothing that
/// is no spelling at all.
public enum Base64 {
  /// RFC 4648 §4: `+` and `/`, padded.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    encode(Array(bytes), alphabet: standard, padded: true)
  }

  /// RFC 4648 §5: `-` and `_`, without padding.
  public static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
    encode(Array(bytes), alphabet: urlSafe, padded: false)
  }

  /// The bytes that `text` spells in either alphabet, padded or not; nil for anything else: a foreign
  /// character, a length of 1 modulo 4, wrong padding, or unused bits that are not zero.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    decode(Array(text.utf8))
  }

  /// The same of a whole string: other modules see no generics here, and every request comes this way.
  public static func decode(_ text: String) -> [UInt8]? {
    decode(Array(text.utf8))
  }

  /// The same over the text's octets.
  public static func decode(_ text: [UInt8]) -> [UInt8]? {
    var end = text.count
    while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
    if end < text.count, text.count % 4 != 0 { return nil }
    if end % 4 == 1 { return nil }
    var out: [UInt8] = []
    out.reserveCapacity(end * 3 / 4)
    var accumulator: UInt32 = 0
    var bits = 0
    for index in 0..<end {
      guard let value = value(of: text[index]) else { return nil }
      accumulator = (accumulator << 6 | UInt32(value)) & 0xFFFF
      bits += 6
      if bits >= 8 {
        bits -= 8
        out.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(bits)))
      }
    }
    let leftover = accumulator & ((1 << UInt32(bits)) - 1)
    return leftover == 0 ? out : nil
  }

  /// The bytes that these octets spell in the one spelling of ``encodeURL(_:)``: `-` and `_`, no padding, unused
  /// bits zero. For what is compared or signed as text (RFC 7515 §2), where two spellings would be two values.
  public static func decodeURL(_ text: some Sequence<UInt8>) -> [UInt8]? {
    let text = Array(text)
    for character in text where value(of: character) == nil || character == 0x2B || character == 0x2F {
      return nil
    }
    return decode(text)
  }

  private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let urlSafe = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }

  private static func encode(_ bytes: [UInt8], alphabet: [UInt8], padded: Bool) -> String {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count + 2) / 3 * 4)
    var accumulator: UInt32 = 0
    var bits = 0
    for byte in bytes {
      accumulator = (accumulator << 8 | UInt32(byte)) & 0xFFFF
      bits += 8
      while bits >= 6 {
        bits -= 6
        out.append(alphabet[Int(accumulator >> UInt32(bits)) & 63])
      }
    }
    if bits > 0 { out.append(alphabet[Int(accumulator << UInt32(6 - bits)) & 63]) }
    if padded { while out.count % 4 != 0 { out.append(UInt8(ascii: "=")) } }
    return String(decoding: out, as: UTF8.self)
  }
}
