import AppAttest
import BramleyTesting
import Encodings
import Testing

@Suite("CBOR reader")
struct CBORReaderTests {
  private func read(_ hex: String) throws -> CBORValue {
    try CBORReader.single((try #require(Hex.decode(hex)))[...])
  }

  @Test("the examples of RFC 8949 appendix A that have a definite length")
  func examples() throws {
    #expect(try read("00") == .unsigned(0))
    #expect(try read("17") == .unsigned(23))
    #expect(try read("1818") == .unsigned(24))
    #expect(try read("1903e8") == .unsigned(1000))
    #expect(try read("1a000f4240") == .unsigned(1_000_000))
    #expect(try read("1bffffffffffffffff") == .unsigned(.max))
    #expect(try read("20") == .negative(0))
    #expect(try read("3903e7") == .negative(999))
    #expect(try read("3bffffffffffffffff") == .negative(.max))
    #expect(try read("f4") == .simple(20))
    #expect(try read("f8ff") == .simple(255))
    #expect(try read("f90000") == .float(0))
    #expect(try read("fb3ff199999999999a") == .float(0x3FF1_9999_9999_999A))
    #expect(try read("c11a514b67b0") == .tagged(1, .unsigned(1_363_896_240)))
    #expect(try read("4401020304") == .bytes([1, 2, 3, 4]))
    #expect(try read("62c3bc").text == "\u{FC}")
    #expect(try read("83010203") == .array([.unsigned(1), .unsigned(2), .unsigned(3)]))
    #expect(try read("a201020304")[.unsigned(3)] == .unsigned(4))
    #expect(try read("a26161016162820203")["b"] == .array([.unsigned(2), .unsigned(3)]))
    #expect(try read("a0").entries?.isEmpty == true)
    #expect(try read("a0")["x"] == nil)
    #expect(try read("00")["x"] == nil)
  }

  @Test(
    "what is not strict is refused",
    arguments: [
      ("", CBORError.truncated), ("18", .truncated), ("1903", .truncated), ("44010203", .truncated),
      ("8301", .truncated), ("a10102a1", .trailingContent), ("0000", .trailingContent),
      ("5f42010243030405ff", .indefiniteLength), ("7fff", .indefiniteLength), ("9fff", .indefiniteLength),
      ("bfff", .indefiniteLength), ("ff", .indefiniteLength), ("1800", .notShortest), ("1817", .notShortest),
      ("1900ff", .notShortest), ("1a0000ffff", .notShortest), ("1b00000000ffffffff", .notShortest),
      ("580100", .notShortest), ("f818", .notShortest), ("f81f", .notShortest), ("1c", .reserved),
      ("fc", .reserved), ("fe", .reserved), ("61ff", .invalidText), ("62c328", .invalidText),
      ("a201010102", .duplicateKey), ("a2616101616102", .duplicateKey), ("a2410101410102", .duplicateKey),
      ("5bffffffffffffffff", .truncated), ("7b7fffffffffffffff", .truncated),
      ("9bffffffffffffffff", .truncated), ("bb7fffffffffffffff", .truncated),
    ])
  func strict(hex: String, error: CBORError) {
    #expect(throws: error) { try self.read(hex) }
  }

  @Test("depth and number of elements are bounded, whatever the input")
  func bounds() throws {
    for head in ["81", "c1", "a100"] {
      #expect(throws: Never.self) { try read(String(repeating: head, count: 8) + "00") }
      #expect(throws: CBORError.tooDeep) { try read(String(repeating: head, count: 9) + "00") }
      #expect(throws: CBORError.tooDeep) { try read(String(repeating: head, count: 100_000) + "00") }
    }
    #expect(throws: Never.self) { try read("9840" + String(repeating: "00", count: 64)) }
    #expect(throws: CBORError.tooManyElements) { try read("9841" + String(repeating: "00", count: 65)) }
    #expect(throws: CBORError.tooManyElements) { try read("b90100" + String(repeating: "00", count: 512)) }
  }

  @Test("random octets, and random changes of a real shape, never trap")
  func random() throws {
    var random = SeededRandom(seed: 3)
    let shape = try #require(
      Hex.decode("a363666d74616167617474537474a1637835638241014102686175746844617461430102a3"))
    for round in 0..<20_000 {
      var bytes = round % 2 == 0 ? random.bytes(round % 40) : shape
      if round % 2 == 1 {
        for _ in 0..<3 {
          bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
        }
      }
      _ = try? CBORReader.single(bytes[...])
    }
  }
}
