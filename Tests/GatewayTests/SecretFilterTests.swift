import Gateway
import Testing

@Suite("Secrets do not leave")
struct SecretFilterTests {
  private static func pass(_ text: String, secrets: [String], pieces: Int) -> (seen: String, cut: Bool) {
    var filter = SecretFilter(secrets: secrets.map { Array($0.utf8) })
    let bytes = Array(text.utf8)
    var seen: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      guard let passed = filter.pass(Array(bytes[start..<min(start + pieces, bytes.count)])) else { break }
      seen += passed
    }
    seen += filter.end()
    return (String(decoding: seen, as: UTF8.self), filter.isCut)
  }

  @Test("RULES §6.4: only a suffix that is a proper beginning of a secret is held back")
  func holdsBack() {
    var filter = SecretFilter(secrets: [Array("abcabcabd".utf8)])
    #expect(filter.pass(Array("xxabc".utf8)) == Array("xx".utf8))
    #expect(filter.pass(Array("abcabc".utf8)) == Array("abc".utf8))
    #expect(filter.pass(Array("x".utf8)) == Array("abcabcx".utf8))
    #expect(filter.pass(Array("plain".utf8)) == Array("plain".utf8))
    #expect(filter.pass(Array("abcabcab".utf8)) == [])
    #expect(filter.end() == Array("abcabcab".utf8))
  }

  @Test("RULES §6.4: a hit cuts for good, and nothing of the secret's end was let out")
  func cuts() {
    for pieces in 1...30 {
      let result = Self.pass("before aaaaaaab-secret after", secrets: ["aaaaaab-secret"], pieces: pieces)
      #expect(result.cut)
      #expect(!result.seen.contains("secret"))
      #expect(!result.seen.contains("after"))
    }
    var filter = SecretFilter(secrets: [Array("abcdefgh".utf8)])
    #expect(filter.pass(Array("abcdefgh".utf8)) == nil)
    #expect(filter.pass(Array("harmless".utf8)) == nil)
    #expect(filter.end() == [])
  }

  @Test("Text without a secret passes whole, for every cut, also when it nearly spells one")
  func passesWhole() {
    let text = "abcabcab abcabcac ababcabcabababcabca abcabcab"
    for pieces in 1...text.utf8.count {
      let result = Self.pass(text, secrets: ["abcabcabd", "cabcabab!", "ab abcabcae"], pieces: pieces)
      #expect(result.seen == text)
      #expect(!result.cut)
    }
  }

  @Test("Random texts over two letters agree with a plain search")
  func random() {
    var random = SplitMix(state: 7)
    for _ in 0..<500 {
      let secret = String((0..<9).map { _ in random.next() % 2 == 0 ? "a" : "b" })
      let text = String((0..<300).map { _ in random.next() % 2 == 0 ? "a" : "b" })
      let pieces = 1 + Int(random.next() % 20)
      let result = Self.pass(text, secrets: [secret], pieces: pieces)
      #expect(result.cut == text.contains(secret))
      #expect(!result.seen.contains(secret))
      if !result.cut { #expect(result.seen == text) }
    }
  }

  @Test("An empty or tiny secret cuts nothing")
  func tiny() {
    #expect(Self.pass("aaaa", secrets: ["", "a"], pieces: 1).seen == "aaaa")
  }

  @Test("Short texts are freed of secrets, of what looks like a key, and of control characters")
  func scrubs() {
    let scrubber = SecretScrubber(secrets: [Array("operator-secret".utf8)])
    #expect(scrubber.scrub("a operator-secret b") == "a [redacted] b")
    #expect(scrubber.scrub("key sk-ant-api03-XYZ_9, ask-me") == "key [redacted], ask-me")
    #expect(scrubber.scrub("a\r\nb\u{0}c") == "a  b c")
    let cut = scrubber.scrub(String(repeating: "é", count: 1_000), limit: 9)
    #expect(cut == "éééé")
    #expect(scrubber.scrub("") == "")
  }
}
