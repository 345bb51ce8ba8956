import Encodings
import Foundation
import Testing

@Suite("Base64 and hexadecimal")
struct Base64Tests {
  private static let samples: [[UInt8]] = (0..<70).map { length in
    (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ length &* 97) }
  }

  @Test("Agrees with Foundation, and every spelling of the same octets is read")
  func spellings() {
    for bytes in Self.samples {
      let standard = Base64.encode(bytes)
      #expect(standard == Data(bytes).base64EncodedString())
      let urlSafe = Base64.encodeURL(bytes)
      #expect(!urlSafe.contains { "+/=".contains($0) })
      for text in [standard, urlSafe, standard.replacing("=", with: "")] {
        #expect(Base64.decode(text) == bytes)
      }
    }
  }

  @Test(
    "What spells nothing is refused",
    arguments: [
      "A", "AAAAA", "=", "==", "===", "====", "A===", "AA=", "AAA==", "AA=A", "=AAA", "AA==AA==", "AAAA=",
      "AAAA==", "AA A",
      "AAA\n", "AB==", "AAB=", "AB", "A*AA", "AAA\u{301}", "АААА", "AA==\u{0}",
    ])
  func refused(_ text: String) { #expect(Base64.decode(text) == nil) }

  @Test("the strict decoder takes the one URL-safe spelling of each value")
  func strict() {
    for bytes in Self.samples {
      #expect(Base64.decodeURL(Base64.encodeURL(bytes).utf8) == bytes)
    }
    #expect(Base64.decodeURL("-_-_".utf8) == [0xFB, 0xFF, 0xBF])
    for bad in ["+/+/", "AA==", "AAA=", "AB", "A", "AAA\n", "=", "A A"] {
      #expect(Base64.decodeURL(bad.utf8) == nil, "\(bad)")
    }
  }

  @Test("Hexadecimal digits of either case, two for an octet")
  func hex() {
    for bytes in Self.samples {
      #expect(Hex.decode(Hex.encode(bytes)) == bytes)
      #expect(Hex.decode(Hex.encode(bytes).uppercased()) == bytes)
    }
    #expect(Hex.encode([0x00, 0x0F, 0xF0, 0xFF]) == "000ff0ff")
    for bad in ["0", "0g", "0x00", " 00", "00 ", "٠٠", "g0", "-1", "+1"] { #expect(Hex.decode(bad) == nil) }
    #expect(Hex.decode("") == [])
  }
}
