import BramleyTesting
import Cryptography
import Encodings
import Testing

@Suite("DER reader")
struct DERReaderTests {
  private func read(_ hex: String) throws -> DERElement {
    try DERReader.single((try #require(Hex.decode(hex)))[...])
  }

  @Test("values are read with their tags")
  func values() throws {
    #expect(try read("0201ff").integer == -1)
    #expect(try read("02020080").integer == 128)
    #expect(try read("02087fffffffffffffff").integer == .max)
    #expect(try read("0400").octets.isEmpty)
    let nested = try read("bf89340404020102")
    #expect(nested.tag == .context(1204))
    var reader = try nested.reader
    #expect(try reader.next(.octetString).octets == [1, 2])
    #expect(reader.isAtEnd)
  }

  @Test(
    "what is not distinguished is refused",
    arguments: [
      "048001ff0000", "04810100", "0482000100", "0485000000000100", "1f1e00", "bf803400", "1f80", "04ff",
    ])
  func notDistinguished(hex: String) {
    #expect(throws: DERError.self) { try self.read(hex) }
  }

  @Test("integers in a longer form than needed, empty or too long are refused")
  func integers() throws {
    #expect(throws: DERError.notDistinguished) { try read("0202007f").integer }
    #expect(throws: DERError.notDistinguished) { try read("0202ff80").integer }
    #expect(throws: DERError.invalidValue) { try read("0200").integer }
    #expect(throws: DERError.invalidValue) { try read("0209010000000000000000").integer }
    #expect(throws: DERError.unexpectedTag) { try read("0401ff").integer }
    #expect(throws: DERError.trailingContent) { try read("0201ff00") }
    #expect(throws: DERError.unexpectedTag) { try read("0201ff").reader }
  }

  @Test("lengths beyond the octets are truncated, also the largest")
  func lengths() {
    for hex in ["04", "0401", "0484ffffffff", "0482ffff00", "1f", "1f81"] {
      #expect(throws: DERError.truncated) { try read(hex) }
    }
  }

  @Test("random octets never trap")
  func random() {
    var random = SeededRandom(seed: 1)
    for round in 0..<20_000 {
      let bytes = random.bytes(round % 24)
      var reader = DERReader(bytes)
      while let element = try? reader.next() { _ = try? element.integer }
    }
  }
}
