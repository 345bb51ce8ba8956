import Accounts
import Encodings
import Testing

@Suite struct OperationIDTests {
  @Test("RULES §4.2: an operation id is 32 hexadecimal digits")
  func format() {
    let text = "019c1f07e35ab844d12e6bf08315c739"
    #expect(OperationID(text)?.description == text)
    #expect(OperationID(text.uppercased())?.description == text)
    for wrong in [
      "", String(text.dropLast()), text + "0", "019c1f07-e35a-b844-d12e-6bf08315c739", "g" + text.dropFirst(),
      Base64.encodeURL([UInt8](text.utf8.prefix(16))), String(repeating: "é", count: 16),
    ] {
      #expect(OperationID(wrong) == nil, "\(wrong)")
    }
  }

  @Test("RULES §4.2: what nobody drew at random is refused")
  func weak() {
    for weak: [UInt8] in [
      [UInt8](repeating: 0, count: 16), [UInt8](repeating: 0xff, count: 16), Array(0..<16),
      (0..<16).map { $0 &* 17 }, [UInt8](repeating: 0, count: 12) + [1, 2, 3, 4],
      Array(repeating: [1, 2, 3, 4, 5, 6, 7, 8], count: 2).flatMap(\.self), Array((100..<116).reversed()),
      [1, 2, 3],
    ] {
      #expect(OperationID(weak) == nil, "\(weak)")
    }
  }

  @Test("random numbers are taken")
  func random() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let octets = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
      #expect(OperationID(octets) != nil, "\(octets)")
    }
  }
}
