/// Lowercase hexadecimal text (RFC 4648 §8 in small letters).
public enum Hex {
  /// Two lowercase digits a byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    // An array of an array costs nothing, and its loop is not generic.
    text(of: Array(bytes))
  }

  private static func text(of bytes: [UInt8]) -> String {
    var out = [UInt8](repeating: 0, count: bytes.count * 2)
    var index = 0
    for byte in bytes {
      out[index] = digit(byte >> 4)
      out[index + 1] = digit(byte & 15)
      index += 2
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// The bytes that `text` spells in digits of either case; nil for an odd length or a foreign character.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var out: [UInt8] = []
    out.reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      out.append(high << 4 | low)
    }
    return out
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
