/// Writes CBOR (RFC 8949) as far as attestations need it: definite lengths in their shortest form.
enum CBORWriter {
  static func unsigned(_ value: UInt64) -> [UInt8] { head(0, value) }
  static func negative(_ magnitude: UInt64) -> [UInt8] { head(1, magnitude - 1) }
  static func bytes(_ value: [UInt8]) -> [UInt8] { head(2, UInt64(value.count)) + value }
  static func text(_ value: String) -> [UInt8] { head(3, UInt64(value.utf8.count)) + value.utf8 }
  static func array(_ values: [[UInt8]]) -> [UInt8] { head(4, UInt64(values.count)) + values.joined() }

  /// A map; keys and values are encoded already, the order is kept.
  static func map(_ members: [(key: [UInt8], value: [UInt8])]) -> [UInt8] {
    head(5, UInt64(members.count)) + members.flatMap { $0.key + $0.value }
  }

  private static func head(_ major: UInt8, _ value: UInt64) -> [UInt8] {
    let first = major << 5
    func octets(_ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (UInt64($0) * 8)) }
    }
    switch value {
    case 0..<24: return [first | UInt8(value)]
    case 0...0xFF: return [first | 24] + octets(1)
    case 0...0xFFFF: return [first | 25] + octets(2)
    case 0...0xFFFF_FFFF: return [first | 26] + octets(4)
    default: return [first | 27] + octets(8)
    }
  }
}
