import Cryptography
import Encodings
import Testing

@Suite("DER is written")
struct DERWriterTests {
  @Test(
    "integers in their shortest form",
    arguments: [
      (0, "020100"), (127, "02017f"), (128, "02020080"), (-1, "0201ff"), (-128, "020180"), (-129, "0202ff7f"),
      (65_536, "0203010000"), (.max, "02087fffffffffffffff"), (.min, "02088000000000000000"),
    ] as [(Int64, String)])
  func integers(number: Int64, encoding: String) {
    #expect(Hex.encode(DERWriter.integer(number)) == encoding)
  }

  @Test("serial numbers stay positive and have no needless zero")
  func serials() {
    #expect(DERWriter.integer(unsigned: [0x80]) == [2, 2, 0, 0x80])
    #expect(DERWriter.integer(unsigned: [0, 0, 0x7F]) == [2, 1, 0x7F])
    #expect(DERWriter.integer(unsigned: []) == [2, 1, 0])
    #expect(DERWriter.integer(unsigned: [0]) == [2, 1, 0])
  }

  @Test(
    "object identifiers",
    arguments: [
      ([1, 2, 840, 113_635, 100, 8, 2], "06092a864886f763640802"), ([2, 5, 29, 19], "0603551d13"),
      ([2, 999, 3], "0603883703"), ([1, 3, 14, 3, 2, 26], "06052b0e03021a"),
    ] as [([UInt64], String)])
  func identifiers(arcs: [UInt64], encoding: String) {
    #expect(Hex.encode(DERWriter.objectIdentifier(arcs)) == encoding)
  }

  @Test(
    "lengths",
    arguments: [(127, "047f"), (128, "048180"), (255, "0481ff"), (256, "04820100"), (65_536, "0483010000")])
  func lengths(count: Int, head: String) {
    let encoding = DERWriter.octetString([UInt8](repeating: 0, count: count))
    #expect(Hex.encode(encoding.dropLast(count)) == head)
  }

  @Test("context tags below and above 31")
  func tags() {
    #expect(Hex.encode(DERWriter.context(1, [0x05, 0])) == "a1020500")
    #expect(Hex.encode(DERWriter.context(1204, [0x04, 0])) == "bf8934020400")
    #expect(Hex.encode(DERWriter.context(31, [])) == "bf1f00")
  }

  @Test("sets are sorted, bits keep their unused count, times change form in 2050")
  func others() {
    #expect(Hex.encode(DERWriter.set([2, 1, 9], [2, 1, 1], [1, 1, 0])) == "3109010100020101020109")
    #expect(Hex.encode(DERWriter.bitString([0xF0], unused: 4)) == "030204f0")
    #expect(DERWriter.boolean(true) == [1, 1, 0xFF])
    #expect(String(decoding: DERWriter.time(2_524_607_999).dropFirst(2), as: UTF8.self) == "491231235959Z")
    #expect(DERWriter.time(2_524_608_000).first == 0x18)
    #expect(String(decoding: DERWriter.time(2_524_608_000).dropFirst(2), as: UTF8.self) == "20500101000000Z")
  }
}
