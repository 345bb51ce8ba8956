/// Which addresses are on the public internet (IANA's special-purpose registries, RFC 6890).
enum PublicAddress {
  /// Whether four octets are an address of a public host.
  static func isPublic(v4 address: [UInt8]) -> Bool {
    guard address.count == 4 else { return false }
    switch (address[0], address[1], address[2]) {
    case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): return false
    case (100, 64...127, _): return false  // CGNAT (RFC 6598)
    case (169, 254, _): return false  // link-local, cloud metadata
    case (172, 16...31, _), (192, 168, _): return false
    case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 51, 100), (203, 0, 113): return false
    case (198, 18...19, _): return false  // benchmarks
    default: return true
    }
  }

  /// Whether sixteen octets are an address of a public host. Forms that carry an IPv4 address (mapped, 6to4,
  /// Teredo, NAT64) are refused: they would lead around the rule above.
  static func isPublic(v6 address: [UInt8]) -> Bool {
    guard address.count == 16, address[0] & 0xE0 == 0x20 else { return false }
    switch (address[0], address[1], address[2], address[3]) {
    case (0x20, 0x01, 0x00...0x01, _): return false  // 2001::/23: Teredo, ORCHID and others
    case (0x20, 0x01, 0x0D, 0xB8): return false  // documentation
    case (0x20, 0x02, _, _): return false  // 6to4
    case (0x3F, 0xFF, 0x00...0x0F, _): return false  // documentation (RFC 9637)
    default: return true
    }
  }
}
