import Encodings

/// An IP address as its octets: 4 or 16. An IPv4 address mapped into IPv6 is the IPv4 one.
package struct IPAddress: Sendable, Hashable {
  /// In network order.
  package let octets: [UInt8]

  /// The address that the text spells (RFC 4291 §2.2; dotted decimal without leading zeros); nil for
  /// anything else. A zone (`%eth0`) is dropped.
  package init?(_ text: some StringProtocol) {
    let text = String(decoding: text.utf8.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
    if let four = Self.four(text) {
      octets = four
    } else if let sixteen = Self.sixteen(text) {
      octets = Self.unmapped(sixteen)
    } else {
      return nil
    }
  }

  /// These octets; nil for another number than 4 or 16.
  package init?(octets: [UInt8]) {
    switch octets.count {
    case 4: self.octets = octets
    case 16: self.octets = Self.unmapped(octets)
    default: return nil
    }
  }

  /// The IPv4 address that is mapped into the IPv6 one, or that one.
  private static func unmapped(_ sixteen: [UInt8]) -> [UInt8] {
    let isMapped = sixteen.prefix(12).elementsEqual([UInt8](repeating: 0, count: 10) + [255, 255])
    return isMapped ? Array(sixteen.suffix(4)) : sixteen
  }

  /// 127.0.0.0/8 or ::1.
  package var isLoopback: Bool {
    octets.count == 4 ? octets[0] == 127 : octets.dropLast().allSatisfy { $0 == 0 } && octets.last == 1
  }

  /// What is counted for: an IPv4 address, or the /64 of an IPv6 one (RULES §5.1).
  package var countingName: String {
    if octets.count == 4 { return "\(octets[0]).\(octets[1]).\(octets[2]).\(octets[3])" }
    return Hex.encode(octets.prefix(8)) + "/64"
  }

  /// The /48 that the counting name of an IPv6 address lies in: what one customer may hold, and rotate through
  /// (RULES §5.1). Nil for any other name.
  package static func siteName(of countingName: String) -> String? {
    guard countingName.hasSuffix("/64"), countingName.utf8.count == 19 else { return nil }
    return countingName.prefix(12) + "/48"
  }

  /// A counting name as others read addresses: that of an IPv6 /64 as its first address.
  package static func text(ofCountingName name: String) -> String {
    guard name.hasSuffix("/64"), name.utf8.count == 19 else { return name }
    let digits = Array(name.utf8.prefix(16))
    let groups = stride(from: 0, to: 16, by: 4).map { String(decoding: digits[$0..<$0 + 4], as: UTF8.self) }
    return groups.joined(separator: ":") + "::"
  }

  private static func four(_ text: some StringProtocol) -> [UInt8]? {
    var out: [UInt8] = []
    var octet = 0
    var digits = 0
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        octet = octet * 10 + Int(byte - UInt8(ascii: "0"))
        digits += 1
        // No leading zeros: some read them as octal.
        guard octet <= 255, digits == 1 || octet >= 10 && (digits == 2 || octet >= 100) else { return nil }
      case UInt8(ascii: "."):
        guard digits > 0, out.count < 3 else { return nil }
        out.append(UInt8(octet))
        octet = 0
        digits = 0
      default: return nil
      }
    }
    guard digits > 0, out.count == 3 else { return nil }
    return out + [UInt8(octet)]
  }

  private static func sixteen(_ text: some StringProtocol) -> [UInt8]? {
    var halves = [[UInt8]()]
    var groups = text.split(separator: ":", omittingEmptySubsequences: false)[...]
    guard groups.count >= 3, groups.count <= 9 else { return nil }
    if groups.first?.isEmpty == true {
      groups = groups.dropFirst()
      guard groups.first?.isEmpty == true else { return nil }
    }
    if groups.last?.isEmpty == true {
      groups = groups.dropLast()
      guard groups.last?.isEmpty == true else { return nil }
    }
    for (position, group) in groups.enumerated() {
      if group.isEmpty {
        guard halves.count == 1 else { return nil }
        halves.append([])
      } else if position == groups.count - 1, group.contains(".") {
        guard let four = four(group) else { return nil }
        halves[halves.count - 1] += four
      } else {
        guard group.utf8.count <= 4, group.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2D }),
          let value = UInt16(group, radix: 16)
        else { return nil }
        halves[halves.count - 1] += [UInt8(value >> 8), UInt8(value & 0xFF)]
      }
    }
    let known = halves.reduce(0) { $0 + $1.count }
    if halves.count == 1 { return known == 16 ? halves[0] : nil }
    guard known <= 14 else { return nil }
    return halves[0] + [UInt8](repeating: 0, count: 16 - known) + halves[1]
  }
}

/// A block of addresses in CIDR notation (RFC 4632, RFC 4291 §2.3), such as `10.0.0.0/8`.
package struct AddressBlock: Sendable, Equatable {
  private let base: IPAddress
  private let length: Int

  /// The block that the text spells; an address alone is a block of one. Nil for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let base = parts.first.flatMap({ IPAddress($0) }) else { return nil }
    let bits = base.octets.count * 8
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let length = Int(parts[1]),
        length <= bits
      else { return nil }
      self.length = length
    } else {
      length = bits
    }
    self.base = base
  }

  /// Whether the address lies in the block.
  package func contains(_ address: IPAddress) -> Bool {
    guard address.octets.count == base.octets.count else { return false }
    var left = length
    for (a, b) in zip(address.octets, base.octets) {
      if left <= 0 { return true }
      let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
      if (a ^ b) & mask != 0 { return false }
      left -= 8
    }
    return true
  }
}
