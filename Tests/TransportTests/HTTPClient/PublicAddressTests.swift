import Testing

@testable import Transport

@Suite("Public addresses")
struct PublicAddressTests {
  @Test(
    "RULES §6.3: special-purpose IPv4 addresses are not public, their neighbours are",
    arguments: [
      ([0, 0, 0, 0], false), ([9, 255, 255, 255], true), ([10, 0, 0, 1], false), ([11, 0, 0, 0], true),
      ([100, 63, 255, 255], true), ([100, 64, 0, 0], false), ([100, 127, 255, 255], false),
      ([100, 128, 0, 0], true),
      ([127, 0, 0, 1], false), ([127, 255, 255, 255], false), ([128, 0, 0, 1], true),
      ([169, 254, 169, 254], false),
      ([169, 253, 0, 0], true), ([172, 15, 255, 255], true), ([172, 16, 0, 0], false),
      ([172, 31, 255, 255], false),
      ([172, 32, 0, 0], true), ([192, 0, 0, 8], false), ([192, 0, 2, 1], false), ([192, 88, 99, 1], false),
      ([192, 168, 255, 255], false), ([192, 169, 0, 0], true), ([198, 17, 0, 0], true),
      ([198, 18, 0, 0], false),
      ([198, 19, 255, 255], false), ([198, 20, 0, 0], true), ([198, 51, 100, 1], false),
      ([203, 0, 113, 9], false),
      ([223, 255, 255, 255], true), ([224, 0, 0, 1], false), ([255, 255, 255, 255], false),
      ([8, 8, 8], false),
    ] as [([UInt8], Bool)])
  func v4(address: [UInt8], isPublic: Bool) {
    #expect(PublicAddress.isPublic(v4: address) == isPublic)
  }

  @Test(
    "RULES §6.3: only global unicast IPv6 addresses are public, and none that carries an IPv4 address",
    arguments: [
      ([0x2606, 0x4700, 0, 0, 0, 0, 0, 1], true), ([0x2001, 0x4860, 0, 0, 0, 0, 0, 0x8888], true),
      ([0, 0, 0, 0, 0, 0, 0, 1], false), ([0, 0, 0, 0, 0, 0, 0, 0], false),
      ([0, 0, 0, 0, 0, 0xFFFF, 0x0808, 0x0808], false), ([0, 0, 0, 0, 0, 0, 0x0808, 0x0808], false),
      ([0xFE80, 0, 0, 0, 0, 0, 0, 1], false), ([0xFC00, 0, 0, 0, 0, 0, 0, 1], false),
      ([0xFD12, 0, 0, 0, 0, 0, 0, 1], false), ([0xFF02, 0, 0, 0, 0, 0, 0, 1], false),
      ([0x0064, 0xFF9B, 0, 0, 0, 0, 0x7F00, 1], false), ([0x2001, 0, 0x7F00, 1, 0, 0, 0, 0], false),
      ([0x2002, 0x7F00, 1, 0, 0, 0, 0, 1], false), ([0x2001, 0x0DB8, 0, 0, 0, 0, 0, 1], false),
      ([0x3FFF, 0, 0, 0, 0, 0, 0, 1], false), ([0x2001], false),
    ] as [([UInt16], Bool)])
  func v6(groups: [UInt16], isPublic: Bool) {
    let address = groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    #expect(PublicAddress.isPublic(v6: address) == isPublic)
  }
}
