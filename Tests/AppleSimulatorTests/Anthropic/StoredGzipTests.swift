import Testing

@testable import AppleSimulator

@Suite("Gzip of stored blocks")
struct StoredGzipTests {
  @Test("the checksum is CRC-32's check value")
  func checksum() {
    var gzip = StoredGzip()
    _ = gzip.add(Array("1234".utf8))
    _ = gzip.add(Array("56789".utf8))
    #expect(gzip.end() == [1, 0, 0, 0xFF, 0xFF, 0x26, 0x39, 0xF4, 0xCB, 9, 0, 0, 0])
  }

  @Test("more than a block's octets go into several")
  func blocks() {
    var gzip = StoredGzip()
    let bytes = gzip.add([UInt8](repeating: 7, count: 0x1_0001))
    #expect(bytes.count == 0x1_0001 + 10)
    #expect(bytes.prefix(5) == [0, 0xFF, 0xFF, 0, 0])
  }
}
