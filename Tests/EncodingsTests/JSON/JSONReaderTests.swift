import Encodings
import Foundation
import Testing

@Suite("Strict JSON")
struct JSONReaderTests {
  private static func reason(_ text: String) -> JSONSyntaxError.Reason? { reason(Array(text.utf8)) }

  private static func reason(_ bytes: [UInt8]) -> JSONSyntaxError.Reason? {
    do {
      _ = try JSONReader.read(bytes)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test("Values are read with their places")
  func values() throws {
    let text =
      #" { "a" : [1, -2.50e+3, "x\n\u00e9\ud83d\ude00\/"], "b":{"c":null,"d":true} , "e":false}"# + "\n"
    let bytes = Array(text.utf8)
    let root = try JSONReader.read(bytes)
    #expect(root["a"]?.elements?[0].integer == 1)
    #expect(root["a"]?.elements?[1].content == .number("-2.50e+3"))
    #expect(root["a"]?.elements?[1].double == -2_500)
    #expect(root["a"]?.elements?[1].integer == nil)
    #expect(root["a"]?.elements?[2].string == "x\né😀/")
    #expect(root["b"]?["c"]?.isNull == true)
    #expect(root["e"]?.bool == false)
    #expect(root["missing"] == nil)
    #expect(root.members?.map(\.name) == ["a", "b", "e"])
    let place = try #require(root["b"]?.range)
    #expect(String(decoding: bytes[place], as: UTF8.self) == #"{"c":null,"d":true}"#)
    let name = try #require(root.members?[2].nameRange)
    #expect(String(decoding: bytes[name], as: UTF8.self) == #""e""#)
  }

  @Test(
    "What RFC 8259 does not allow is refused, with its reason",
    arguments: [
      ("", .unexpectedEnd), ("  ", .unexpectedEnd), ("[", .unexpectedEnd), ("[1", .unexpectedEnd),
      ("{\"a\"", .unexpectedEnd),
      ("\"a", .unexpectedEnd), ("\"\\", .unexpectedEnd), ("tru", .unexpectedEnd),
      ("trux", .unexpectedCharacter),
      ("[1,]", .unexpectedCharacter), ("{\"a\":1,}", .unexpectedCharacter), ("[,1]", .unexpectedCharacter),
      ("{,}", .unexpectedCharacter),
      ("[1 2]", .unexpectedCharacter), ("{\"a\" 1}", .unexpectedCharacter), ("{a:1}", .unexpectedCharacter),
      ("'a'", .unexpectedCharacter),
      ("True", .unexpectedCharacter), ("NaN", .unexpectedCharacter), ("+1", .unexpectedCharacter),
      (".5", .unexpectedCharacter),
      ("Infinity", .unexpectedCharacter), ("// c\n1", .unexpectedCharacter),
      ("\u{A0}1", .unexpectedCharacter), ("\u{FEFF}1", .unexpectedCharacter),
      ("01", .invalidNumber), ("-", .invalidNumber), ("1.", .invalidNumber), ("1.e1", .invalidNumber),
      ("1e", .invalidNumber),
      ("1e+", .invalidNumber), ("-01", .invalidNumber), ("00", .invalidNumber), ("0x1", .trailingContent),
      ("1 1", .trailingContent), ("{}]", .trailingContent),
      ("1_000", .trailingContent), ("\"\\x\"", .invalidEscape), ("\"\\u12g4\"", .invalidEscape),
      ("\"\\U0041\"", .invalidEscape),
      ("\"\\ud800\"", .invalidText), ("\"\\udc00\"", .invalidText), ("\"\\ud800\\u0041\"", .invalidText),
      ("\"\\ud800x\"", .invalidText),
      ("\"\\ud800\\ud800\"", .invalidText), ("\"a\nb\"", .controlCharacter), ("\"\u{0}\"", .controlCharacter),
      ("\"\\n\t\"", .controlCharacter),
      (#"{"a":1,"a":2}"#, .duplicateName), (#"{"a":1,"\u0061":2}"#, .duplicateName),
      (#"{"x":{"a":1,"a":1}}"#, .duplicateName),
      (#"{"":1,"":2}"#, .duplicateName), ("{\"\u{E9}\":1,\"e\u{301}\":2}", .duplicateName),
    ] as [(String, JSONSyntaxError.Reason)])
  func refused(_ text: String, _ expected: JSONSyntaxError.Reason) {
    #expect(Self.reason(text) == expected, "\(text)")
  }

  @Test("Octets that are no UTF-8 are refused wherever they stand")
  func badEncodings() {
    for bad in [
      [0x80], [0xC0, 0xAF], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
    ] as [[UInt8]] {
      #expect(Self.reason([0x22] + bad + [0x22]) == .invalidText)
      #expect(Self.reason(Array("{\"a\\n".utf8) + bad + Array("\":1}".utf8)) == .invalidText)
      #expect(Self.reason(bad) == .unexpectedCharacter)
    }
    #expect(Self.reason(Array("{\"a\":1}".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })) != nil)
  }

  @Test("Depth is bounded, at the limit and far beyond it")
  func depth() throws {
    let nested = { (depth: Int) in
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    #expect(Self.reason(nested(64)) == nil)
    #expect(Self.reason(nested(65)) == .tooDeep)
    #expect(Self.reason(nested(1_000_000)) == .tooDeep)
    #expect(Self.reason(Array(String(repeating: "{\"a\":", count: 1_000_000).utf8)) == .tooDeep)
    // Depth is what is open at once, not how much there was.
    let flat = "[" + Array(repeating: "[[]]", count: 500).joined(separator: ",") + "]"
    #expect(Self.reason(flat) == nil)
    #expect(throws: JSONSyntaxError.self) { try JSONReader.read(nested(1), maximumDepth: 0) }
  }

  @Test("Comments are read where they are asked for, and only there")
  func comments() throws {
    let text = "// one\n{ /* two * / */ \"a\" /**/ : 1 // three\n, \"b\": [/*x*/] }/**///"
    let root = try JSONReader.read(Array(text.utf8), comments: true)
    #expect(root["a"]?.integer == 1)
    for bad in ["/", "/*", "/* *", "1 /x", "/*/ 1", "[1,/**/]"] {
      #expect(throws: JSONSyntaxError.self) { try JSONReader.read(Array(bad.utf8), comments: true) }
    }
    #expect(Self.reason(text) == .unexpectedCharacter)
  }

  @Test("A mistake is told by line and column, and quotes nothing")
  func places() throws {
    do {
      _ = try JSONReader.read(Array("{\n  \"secret\": 1,\n  \"secret\": 2\n}".utf8))
      Issue.record("accepted")
    } catch {
      #expect(error.reason == .duplicateName && error.offset == 19 && error.line == 3 && error.column == 3)
      #expect(error.description == "duplicate name at line 3, column 3")
    }
  }

  @Test("Whole numbers are those that are spelled as such and fit")
  func integers() throws {
    for (text, value) in [
      ("0", 0), ("-1", -1), ("9223372036854775807", .max), ("9223372036854775808", nil), ("1.0", nil),
      ("1e2", nil),
      ("-9223372036854775808", .min), ("\"1\"", nil),
    ] as [(String, Int64?)] {
      #expect(try JSONReader.read(Array(text.utf8)).integer == value)
    }
  }

  @Test("What is written is read again as the same")
  func roundTrip() throws {
    let value: JSONValue = [
      "text": "quote \" backslash \\ line\n\r\t\u{0}\u{1F}\u{7F} é 😀 \u{2028}", "empty": "", "number": 12,
      "null": nil,
      "list": [1, "two", false, [], [:]], "é": ["nested": true],
    ]
    #expect(try JSONReader.read(value.bytes).value == value)
    #expect(try JSONReader.read(Array(value.prettyText.utf8)).value == value)
    #expect(value.text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
    #expect(JSONValue.array([]).prettyText == "[]")
    #expect(JSONValue.object([("a", 1)]).prettyText == "{\n  \"a\": 1\n}")
    #expect(JSONValue.integer(UInt64.max).text == "18446744073709551615")
  }

  @Test("Cut or changed anywhere: no trap, and what is accepted Foundation reads as the same")
  func mutations() throws {
    let seeds = [
      #"{"model":"claude","max_tokens":100,"messages":[{"role":"user","content":"h\u00e9\ud83d\ude00"}],"x":[1,-2.5e3,true,null]}"#,
      #"[[],{},"",0,{"a":{"b":[{"c":"\\\"\/"}]}}]"#,
    ].map { Array($0.utf8) }
    let alphabet = Array(#"{}[]",:\u0019eE+-.tfn /"#.utf8) + [0x00, 0x80, 0xC3, 0xFF]
    var state: UInt64 = 9
    func next() -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33)
    }
    for seed in seeds {
      for length in 0..<seed.count { #expect(Self.reason(Array(seed.prefix(length))) != nil) }
      for _ in 0..<5_000 {
        var bytes = seed
        for _ in 0...(next() % 3) {
          let place = next() % bytes.count
          switch next() % 3 {
          case 0: bytes[place] = alphabet[next() % alphabet.count]
          case 1: bytes.insert(alphabet[next() % alphabet.count], at: place)
          default: bytes.remove(at: place)
          }
        }
        guard let ours = try? JSONReader.read(bytes) else { continue }
        let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
        let again = try? JSONSerialization.jsonObject(
          with: Data(ours.value.bytes), options: .fragmentsAllowed)
        // Foundation refuses numbers that no Double holds.
        if theirs == nil, String(decoding: bytes, as: UTF8.self).lowercased().contains("e") { continue }
        #expect(theirs != nil, "\(String(decoding: bytes, as: UTF8.self))")
        #expect((theirs as? NSObject) == (again as? NSObject))
      }
    }
  }
}
