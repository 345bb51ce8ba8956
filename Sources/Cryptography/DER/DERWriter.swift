import Encodings

/// Writes values of DER (X.690 §10), the contents first and their surroundings then. Each function returns
/// identifier, length and contents.
package enum DERWriter {
  /// SEQUENCE of values that are encoded already.
  package static func sequence(_ values: [UInt8]...) -> [UInt8] { sequence(values) }

  /// SEQUENCE of values that are encoded already.
  package static func sequence(_ values: [[UInt8]]) -> [UInt8] { value(0x30, Array(values.joined())) }

  /// SET OF values that are encoded already, in the order that DER demands (X.690 §11.6).
  package static func set(_ values: [UInt8]...) -> [UInt8] {
    value(0x31, Array(values.sorted { $0.lexicographicallyPrecedes($1) }.joined()))
  }

  /// BOOLEAN.
  package static func boolean(_ truth: Bool) -> [UInt8] { value(0x01, [truth ? 0xFF : 0]) }

  /// INTEGER.
  package static func integer(_ number: Int64) -> [UInt8] {
    var octets = (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }[...]
    while octets.count > 1, let first = octets.first, let second = octets.dropFirst().first,
      first == 0 && second < 0x80 || first == 0xFF && second >= 0x80
    {
      octets = octets.dropFirst()
    }
    return value(0x02, Array(octets))
  }

  /// INTEGER that is not negative, of its big-endian octets, such as a serial number.
  package static func integer(unsigned octets: [UInt8]) -> [UInt8] {
    var octets = Array(octets.drop { $0 == 0 })
    if (octets.first ?? 0x80) >= 0x80 { octets.insert(0, at: 0) }
    return value(0x02, octets)
  }

  /// BIT STRING; `unused` bits of the last octet, 0 to 7, are not part of it.
  package static func bitString(_ octets: [UInt8], unused: UInt8 = 0) -> [UInt8] {
    value(0x03, [unused] + octets)
  }

  /// OCTET STRING.
  package static func octetString(_ octets: [UInt8]) -> [UInt8] { value(0x04, octets) }

  /// NULL.
  package static let null: [UInt8] = [0x05, 0]

  /// OBJECT IDENTIFIER of its arcs; the first is 0 to 2, and the second below 40 under 0 and 1.
  package static func objectIdentifier(_ arcs: [UInt64]) -> [UInt8] {
    var octets: [UInt8] = []
    let first = arcs.prefix(2).reduce(0) { $0 * 40 + $1 }
    for arc in [first] + arcs.dropFirst(2) {
      var digits = [UInt8(arc & 0x7F)]
      var rest = arc >> 7
      while rest > 0 {
        digits.append(UInt8(rest & 0x7F) | 0x80)
        rest >>= 7
      }
      octets += digits.reversed()
    }
    return value(0x06, octets)
  }

  /// UTF8String.
  package static func utf8String(_ text: String) -> [UInt8] { value(0x0C, Array(text.utf8)) }

  /// Time of a certificate, seconds since 1970: UTCTime up to 2049, GeneralizedTime after (RFC 5280 §4.1.2.5).
  package static func time(_ seconds: Int64) -> [UInt8] {
    let time = CivilTime(secondsSince1970: seconds)
    return (1950..<2050).contains(time.year)
      ? value(0x17, Array(time.utcTime.utf8)) : value(0x18, Array(time.generalizedTime.utf8))
  }

  /// `[number]` around values that are encoded already (explicit), or in place of a constructed type's own
  /// tag (implicit).
  package static func context(_ number: UInt32, _ contents: [UInt8]) -> [UInt8] {
    if number < 0x1F { return value(0xA0 | UInt8(number), contents) }
    var digits = [UInt8(number & 0x7F)]
    var rest = number >> 7
    while rest > 0 {
      digits.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return [0xBF] + digits.reversed() + length(contents.count) + contents
  }

  /// A value of one identifier octet.
  package static func value(_ identifier: UInt8, _ contents: [UInt8]) -> [UInt8] {
    [identifier] + length(contents.count) + contents
  }

  private static func length(_ count: Int) -> [UInt8] {
    if count < 0x80 { return [UInt8(count)] }
    let octets = (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }.drop { $0 == 0 }
    return [0x80 | UInt8(octets.count)] + octets
  }
}
