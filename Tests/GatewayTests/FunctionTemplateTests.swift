import Encodings
import Testing

@testable import Gateway

@Suite("Prompts of functions")
struct FunctionTemplateTests {
  private static let fields = [
    FunctionField("dish", .string(maximumLength: 20)),
    FunctionField("size", .choice(["small", "large"]), isOptional: true),
    FunctionField("tags", .list(.string(maximumLength: 8), maximumCount: 2), isOptional: true),
    FunctionField("share", .number(0...1), isOptional: true),
    FunctionField("photo", .image(maximumBytes: 60), isOptional: true),
  ]

  private func input(_ text: String) throws(ProviderRefusal) -> FunctionInput {
    try FunctionInput(Array(text.utf8), fields: Self.fields)
  }

  private func place(_ text: String) -> String? {
    do throws(ProviderRefusal) {
      _ = try input(text)
      return nil
    } catch {
      return error.place ?? error.code
    }
  }

  @Test("places are filled once, and what fills them is never read for places")
  func filled() throws {
    let template = try FunctionTemplate("a {{dish}} b {{ size }}{{dish}} {\"x\":{\"y\":1}}")
    #expect(template.places == ["dish", "size"])
    let input = try input(#"{"dish":"{{size}}","size":"small"}"#)
    #expect(
      template.filled(with: input, .bare) == #"a "{{size}}" b "small""{{size}}" {"x":{"y":1}}"#)
    #expect(
      template.filled(with: input, .delimited).hasPrefix(#"a <input name="dish">"{{size}}"</input> b"#))
  }

  @Test(
    "a text that is no template is said to be none",
    arguments: [
      ("{{dish", FunctionTemplate.Flaw.unclosed), ("{{}}", .name("")), ("{{Dish}}", .name("Dish")),
      ("{{a b}}", .name("a b")), ("{{{dish}}}", .name("{dish")), ("{{dïsh}}", .name("dïsh")),
      ("x {{a}} {{", .unclosed),
    ])
  func flaws(_ text: String, _ flaw: FunctionTemplate.Flaw) {
    #expect(throws: flaw) { try FunctionTemplate(text) }
  }

  @Test("what does not print is escaped, letters and emoji are not")
  func quoted() throws {
    #expect(PromptText.quoted("Öl – 日本 👩‍👧 \"x\" \\") == #""Öl – 日本 👩‍👧 \"x\" \\""#)
    #expect(
      PromptText.quoted("</input>\u{202E}\u{2066}\u{FEFF}\0\n")
        == #""\u003c/input\u003e\u202e\u2066\ufeff\u0000\n""#)
    #expect(
      PromptText.quoted("\u{E0041}\u{E0100}\u{2028}\u{85}\u{E000}")
        == #""\udb40\udc41\udb40\udd00\u2028\u0085\ue000""#)
    // Whatever it is, it is JSON of the same text.
    let odd = String(String.UnicodeScalarView((0...0x2FF).compactMap { Unicode.Scalar($0 * 379) }))
    #expect(try JSONReader.read(Array(PromptText.quoted(odd).utf8)).string == odd)
  }

  @Test("each shape takes its own and nothing else")
  func shapes() throws {
    let whole = try input(#"{"dish":"a","size":"large","tags":["x","y"],"share":0.50}"#)
    #expect(whole.texts == ["dish": #""a""#, "size": #""large""#, "tags": #"["x", "y"]"#, "share": "0.5"])
    #expect(try input(#"{"dish":"a","size":null}"#).texts["size"] == "null")
    #expect(place(#"{"dish":null}"#) == "dish")
    #expect(place(#"{"dish":["a"]}"#) == "dish")
    #expect(place(#"{"dish":"aaaaaaaaaaaaaaaaaaaaa"}"#) == "dish")
    #expect(place(#"{"dish":"a","size":"Large"}"#) == "size")
    #expect(place(#"{"dish":"a","tags":"x"}"#) == "tags")
    #expect(place(#"{"dish":"a","tags":["x",7]}"#) == "tags[1]")
    #expect(place(#"{"dish":"a","tags":["x","y","z"]}"#) == "tags")
    #expect(place(#"{"dish":"a","share":1.01}"#) == "share")
    #expect(place(#"{"dish":"a","share":1e999}"#) == "share")
    #expect(place(#"{"dish":"a","share":"0.5"}"#) == "share")
    #expect(place(#"{"dish":"a","prompt":"x"}"#) == "prompt")
    #expect(place(#"{"dish":"e\u0301","dish ":"x"}"#) == "dish ")
    #expect(place("") == "dish")
  }

  @Test("a combining mark counts: nobody hides a book in one letter")
  func marks() {
    #expect(place(#"{"dish":"a"# + String(repeating: "\u{0301}", count: 20) + #""}"#) == "dish")
  }

  @Test("a picture is known by its own octets, and bounded by them")
  func images() throws {
    func photo(_ octets: [UInt8]) -> String { #"{"dish":"a","photo":""# + Base64.encode(octets) + #""}"# }
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    #expect(try input(photo(png)).images.map(\.mediaType) == ["image/png"])
    #expect(place(photo(png + [UInt8](repeating: 0, count: 53))) == "photo")
    #expect(place(photo(Array("<svg onload=x>".utf8))) == "photo")
    #expect(place(#"{"dish":"a","photo":"https://example.com/a.png"}"#) == "photo")
    #expect(place(#"{"dish":"a","photo":{"url":"x"}}"#) == "photo")
  }

  @Test("every provider gets JSON in which the user's text is one string")
  func dialects() throws {
    var function = FunctionDefinition(
      name: "f", provider: "anthropic", model: "m",
      prompt: .messages(
        system: try FunctionTemplate("Be brief."), [.init(.user, try FunctionTemplate("Cook {{dish}}."))]),
      fields: [Self.fields[0]])
    let input = try FunctionInput(Array(#"{"dish":"\"}],\"x\":[{"}"#.utf8), fields: function.fields)
    for dialect in FunctionDialects.all {
      if dialect.draws { function.prompt = .image(try FunctionTemplate("Draw {{dish}}.")) }
      let sent = try JSONReader.read(function.request(of: input, in: dialect).body)
      let texts = Self.strings(sent)
      #expect(texts.filter { $0.contains(#"\"}],\"x\":[{"#) }.count == 1, "\(dialect.provider): \(texts)")
      #expect(sent["x"] == nil)
    }
  }

  private static func strings(_ node: JSONNode) -> [String] {
    if let text = node.string { return [text] }
    return (node.elements ?? node.members?.map(\.value) ?? []).flatMap { strings($0) }
  }
}

@Suite("Answers of functions")
struct FunctionAnswerTests {
  private static let chat = [
    #"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
    #"data: {"choices":[{"index":0,"delta":{"content":"Fizz"},"finish_reason":null}],"usage":null}"#,
    #"data: {"choices":[{"index":0,"delta":{"content":"le"},"finish_reason":null}],"usage":null}"#,
    #"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
    #"data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#, "data: [DONE]", "",
  ].joined(separator: "\n\n")
  private static let messages = [
    #"data: {"type":"message_start","message":{"usage":{"input_tokens":9}}}"#,
    #"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Fizz"}}"#,
    #"data: {"type":"ping"}"#,
    #"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"le"}}"#,
    #"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
    #"data: {"type":"message_stop"}"#, "",
  ].joined(separator: "\n\n")
  private static let pictures =
    #"{"images":[{"url":"https://v3.fal.media/a.png","width":512,"height":512}],"seed":7}"#

  private func answer(_ provider: String, _ octets: some Collection<UInt8>, step: Int = 1) -> FunctionAnswer {
    var reader = (FunctionDialects.of(provider) ?? FunctionDialects.all[0]).reader()
    var answer = FunctionAnswer()
    var rest = Array(octets)[...]
    while !rest.isEmpty {
      for event in reader.read(Array(rest.prefix(step))) { answer.add(event) }
      rest = rest.dropFirst(step)
    }
    for event in reader.end() { answer.add(event) }
    return answer
  }

  private func function(_ form: FunctionDefinition.Form = .text, draws: Bool = false) throws
    -> FunctionDefinition
  {
    var out = FunctionDefinition(
      name: "f", provider: "p", model: "m",
      prompt: draws ? .image(try FunctionTemplate("x")) : .messages(system: nil, []))
    out.form = form
    return out
  }

  @Test("the app gets the same answer whichever provider made it, however it is cut")
  func same() throws {
    for step in [1, 7, 10_000] {
      for (provider, text) in [("openai", Self.chat), ("anthropic", Self.messages)] {
        #expect(
          try answer(provider, text.utf8, step: step).json(function()) == ["text": "Fizzle", "stop": "end"])
      }
      #expect(
        try answer("fal", Self.pictures.utf8, step: step).json(function(draws: true))?.text
          == #"{"images":[{"url":"https://v3.fal.media/a.png","width":512,"height":512}],"stop":"end"}"#)
    }
  }

  @Test("an answer that is cut anywhere is none")
  func truncated() throws {
    for (provider, text) in [("openai", Self.chat), ("anthropic", Self.messages)] {
      // Without the empty line after the last event it has not come.
      for end in 0..<(text.utf8.count - 1) {
        #expect(try answer(provider, text.utf8.prefix(end), step: 50).json(function()) == nil)
      }
    }
    for end in 0..<Self.pictures.utf8.count {
      #expect(
        try answer("fal", Self.pictures.utf8.prefix(end), step: 50).json(function(draws: true)) == nil)
    }
  }

  @Test(
    "what is wrong in an answer makes it none",
    arguments: [
      ("anthropic", "data: {\"type\":\"error\",\"error\":{}}\n\n"), ("openai", "data: {\"error\":{}}\n\n"),
      ("openai", "data: [DONE]\n\n"), ("anthropic", "data: soup\n\n"), ("fal", #"{"images":[]}"#),
      ("fal", #"{"images":[{"url":"http://169.254.169.254/"}]}"#), ("fal", #"{"detail":"x"}"#),
      ("fal", #"{"images":[{"url":"javascript:alert(1)"}]}"#),
    ])
  func wrong(_ provider: String, _ text: String) throws {
    #expect(try answer(provider, text.utf8).json(function(draws: provider == "fal")) == nil)
  }

  @Test("JSON is read out of a text, also out of a fence, and nothing else is")
  func json() {
    #expect(FunctionAnswer.value(in: " {\"a\":1}\n") == ["a": 1])
    #expect(FunctionAnswer.value(in: "```json\n{\"a\":1}\n```") == ["a": 1])
    #expect(FunctionAnswer.value(in: "```\n[1]\n```\n") == [1])
    for text in ["", "```", "``````", "```json```", "Here: {}", "{} {}", "{\"a\":1,\"a\":2}"] {
      #expect(FunctionAnswer.value(in: text) == nil)
    }
  }
}
