import Encodings
import Testing

@Suite("UUID")
struct UUIDTests {
  @Test("either case is read, and lowercase is written (RFC 9562 §4)")
  func caseOfLetters() throws {
    let id = try #require(UUID("E106CA9A-0B5C-4F6D-8E7F-AABBCCDDEEFF"))
    #expect(id.description == "e106ca9a-0b5c-4f6d-8e7f-aabbccddeeff")
    #expect(UUID(id.description) == id)
    #expect(UUID(octets: id.octets) == id)
  }

  @Test(
    "what is no UUID is none",
    arguments: [
      "", "e106ca9a0b5c4f6d8e7faabbccddeeff", "e106ca9a-0b5c-4f6d-8e7f-aabbccddeef",
      "e106ca9a-0b5c-4f6d-8e7f-aabbccddeeff0", "e106ca9a-0b5c-4f6d-8e7f-aabbccddeefg",
      "{e106ca9a-0b5c-4f6d-8e7f-aabbccddee}", "e106ca9a--b5c-4f6d-8e7f-aabbccddeeff",
      "e106ca9a-0b5c-4f6d-8e7f-aabbccddeeff\n",
    ])
  func refused(text: String) {
    #expect(UUID(text) == nil)
  }

  @Test("a random one says version 4 and the variant (RFC 9562 §5.4)")
  func random() throws {
    let id = try #require(UUID(random: [UInt8](repeating: 0xFF, count: 16)))
    #expect(id.description == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    #expect(UUID(random: []) == nil)
    #expect(UUID(octets: [1]) == nil)
  }
}
