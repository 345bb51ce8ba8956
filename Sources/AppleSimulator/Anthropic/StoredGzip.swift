/// Gzip (RFC 1952) without compression: stored blocks (RFC 1951 §3.2.4), which every reader must take.
struct StoredGzip {
  private var checksum: UInt32 = 0xFFFF_FFFF
  private var length: UInt32 = 0

  /// The header.
  func begin() -> [UInt8] { [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF] }

  /// These octets as blocks.
  mutating func add(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 0xFFFF) {
      let block = bytes[start..<min(start + 0xFFFF, bytes.count)]
      out += Self.blockHeader(final: false, count: UInt16(block.count)) + block
    }
    for byte in bytes {
      checksum ^= UInt32(byte)
      for _ in 0..<8 { checksum = checksum >> 1 ^ (checksum & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    length &+= UInt32(truncatingIfNeeded: bytes.count)
    return out
  }

  /// The last block, empty, and the trailer.
  func end() -> [UInt8] {
    Self.blockHeader(final: true, count: 0) + Self.littleEndian(~checksum) + Self.littleEndian(length)
  }

  private static func blockHeader(final: Bool, count: UInt16) -> [UInt8] {
    [final ? 1 : 0] + littleEndian(UInt32(count)).prefix(2) + littleEndian(UInt32(~count)).prefix(2)
  }

  private static func littleEndian(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }
}
