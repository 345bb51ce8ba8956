import Cryptography
import Encodings
import Testing

@Suite("Hash")
struct HashTests {
  @Test(
    "SHA-256 of FIPS 180-4's examples",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func examples(message: String, digest: String) {
    #expect(Hex.encode(SHA256.hash(message)) == digest)
    let bytes = Array(message.utf8)
    for cut in 0...bytes.count {
      var hash = SHA256()
      hash.update(bytes[..<cut])
      hash.update(Array(bytes[cut...]))
      #expect(Hex.encode(hash.finish()) == digest)
      #expect(hash.finish() == SHA256.hash([UInt8]()))
    }
  }

  @Test("random octets differ and have the asked length")
  func random() {
    #expect(SecureRandom.bytes(0) == [])
    #expect(SecureRandom.bytes(32).count == 32)
    #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
  }

  @Test("constant-time comparison compares")
  func constantTime() {
    #expect(ConstantTime.equal([], []))
    #expect(ConstantTime.equal([1, 2], [1, 2]))
    #expect(!ConstantTime.equal([1, 2], [1, 3]))
    #expect(!ConstantTime.equal([1, 2], [1, 2, 3]))
  }
}
