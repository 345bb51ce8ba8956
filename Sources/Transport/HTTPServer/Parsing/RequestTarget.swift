/// The request target (RFC 9112 §3.2): origin form, and `*` for OPTIONS. Nothing that a proxy, a router and a
/// store could read in different ways gets through.
enum RequestTarget {
  /// Whether the octets are a target that this server takes.
  ///
  /// The path is made of `pchar` and slashes (RFC 3986 §3.3), without `.` and `..` segments and without
  /// percent-encoded `/`, `\`, `.` or NUL. The query may hold the octets that browsers leave as they are
  /// (WHATWG URL, query percent-encode set) as well, and percent-encoded anything but NUL.
  static func isPlain(_ bytes: ArraySlice<UInt8>, method: ArraySlice<UInt8>) -> Bool {
    if bytes.count == 1, bytes.first == UInt8(ascii: "*") { return method.elementsEqual("OPTIONS".utf8) }
    guard bytes.first == UInt8(ascii: "/") else { return false }
    var inQuery = false
    var dots = 0  // length of the segment while it is made of dots alone, else -1
    var index = bytes.startIndex + 1
    while index < bytes.endIndex {
      let byte = bytes[index]
      index += 1
      if byte == UInt8(ascii: "%") {
        guard index + 1 < bytes.endIndex, let high = hexadecimal(bytes[index]),
          let low = hexadecimal(bytes[index + 1])
        else { return false }
        let decoded = high << 4 | low
        if decoded == 0 { return false }
        if !inQuery, [0x2E, 0x2F, 0x5C].contains(decoded) { return false }
        index += 2
        dots = -1
      } else if inQuery {
        guard isInQuery(byte) else { return false }
      } else if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") {
        if dots == 1 || dots == 2 { return false }
        dots = 0
        inQuery = byte == UInt8(ascii: "?")
      } else {
        guard isInPath(byte) else { return false }
        dots = byte == UInt8(ascii: ".") && dots >= 0 ? dots + 1 : -1
      }
    }
    return inQuery || (dots != 1 && dots != 2)
  }

  /// Whether the octets are a host with or without a port (RFC 9110 §7.2): a name, an IPv4 address or an
  /// IPv6 address in brackets.
  static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    if rest.first == UInt8(ascii: "[") {
      guard let close = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
      let address = rest[(rest.startIndex + 1)..<close]
      let isAddress = address.allSatisfy { hexadecimal($0) != nil || $0 == 0x3A || $0 == 0x2E }
      guard address.count >= 2, isAddress else { return false }
      rest = rest[(close + 1)...]
    } else {
      let name = rest.prefix { $0 != UInt8(ascii: ":") }
      guard !name.isEmpty, name.allSatisfy(isInName) else { return false }
      rest = rest[name.endIndex...]
    }
    guard let colon = rest.first else { return true }
    let port = rest.dropFirst()
    return colon == UInt8(ascii: ":") && (1...5).contains(port.count)
      && port.allSatisfy { (0x30...0x39).contains($0) }
  }

  /// The value of a hexadecimal digit.
  static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }

  /// Whether the octet may stand in a token (RFC 9110 §5.6.2).
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A: true
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x7C, 0x7E: true
    default: false
    }
  }

  /// `pchar` without percent signs, which are looked at before.
  private static func isInPath(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x3B, 0x40...0x5A, 0x61...0x7A: true
    case 0x21, 0x24, 0x26...0x2E, 0x3D, 0x5F, 0x7E: true
    default: false
    }
  }

  private static func isInQuery(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x2F, 0x3F, 0x5B, 0x5D, 0x5E, 0x60, 0x7B...0x7D: true  // / ? [ ] ^ ` { | }
    default: isInPath(byte)
    }
  }

  private static func isInName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
    default: false
    }
  }
}
