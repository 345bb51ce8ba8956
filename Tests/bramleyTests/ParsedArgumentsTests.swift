import Testing

@testable import bramley

@Suite("Arguments of a command")
struct ParsedArgumentsTests {
  private static let syntax = CommandSyntax(
    words: ["inspect", "thing"], summary: "Looks at it.",
    positionals: [.init(name: "FILE", summary: "the thing")],
    options: [
      .init(name: "app", value: "ID", summary: "the app"),
      .init(name: "days", value: "DAYS", summary: "how long", fallback: "7"),
      .init(name: "json", summary: "for programs"),
    ])

  private func parse(_ arguments: String...) throws(UsageError) -> ParsedArguments {
    try ParsedArguments(arguments, by: Self.syntax)
  }

  @Test("options may stand anywhere, with a blank or an equals sign")
  func orders() throws {
    for arguments in [
      ["thing.bin", "--app", "A.b", "--json"], ["--app=A.b", "thing.bin", "--json"],
      ["--json", "--app", "A.b", "--", "thing.bin"],
    ] {
      let parsed = try ParsedArguments(arguments, by: Self.syntax)
      #expect(parsed.positional("FILE") == "thing.bin")
      #expect(parsed.value("app") == "A.b")
      #expect(parsed.flag("json"))
      #expect(parsed.value("days") == nil)
    }
  }

  @Test("a value may be empty, hold an equals sign, or begin with one dash")
  func values() throws {
    #expect(try parse("f", "--app=").value("app") == "")
    #expect(try parse("f", "--app=a=b==").value("app") == "a=b==")
    #expect(try parse("f", "--app", "-x").value("app") == "-x")
  }

  @Test("after -- everything is a positional, and a lone dash always")
  func dashes() throws {
    #expect(try parse("--", "--app").positional("FILE") == "--app")
    #expect(try parse("-").positional("FILE") == "-")
  }

  @Test("what is not understood is refused")
  func refused() {
    #expect(throws: UsageError.unknownOption("--ap", nearest: "--app")) { try parse("f", "--ap", "x") }
    #expect(throws: UsageError.unknownOption("--zebra", nearest: nil)) { try parse("f", "--zebra=1") }
    #expect(throws: UsageError.unknownOption("-j", nearest: nil)) { try parse("f", "-j") }
    #expect(throws: UsageError.missingValue(option: "app", value: "ID")) { try parse("f", "--app") }
    #expect(throws: UsageError.missingValue(option: "app", value: "ID")) { try parse("f", "--app", "--json") }
    #expect(throws: UsageError.unexpectedValue(option: "json")) { try parse("f", "--json=yes") }
    #expect(throws: UsageError.repeated(option: "app")) { try parse("f", "--app=a", "--app=b") }
    #expect(throws: UsageError.repeated(option: "json")) { try parse("f", "--json", "--json") }
    #expect(throws: UsageError.missing("FILE")) { try parse("--json") }
    #expect(throws: UsageError.unexpected("g")) { try parse("f", "g") }
  }

  @Test("a required option must be there")
  func required() {
    var syntax = Self.syntax
    syntax.options[0].required = true
    #expect(throws: UsageError.missing("--app ID")) { try ParsedArguments(["f"], by: syntax) }
  }

  @Test("a value that cannot be read says what it should be")
  func conversion() throws {
    let parsed = try parse("f", "--days", "soon")
    #expect(throws: UsageError.invalid(name: "--days", value: "soon", expected: "a number")) {
      try parsed.value("days", expected: "a number") { Int($0) }
    }
    #expect(try parse("f", "--days=9").value("days", expected: "a number") { Int($0) } == 9)
    #expect(try parse("f").value("days", expected: "a number") { Int($0) } == nil)
  }

  @Test("an error is one line, whatever was typed")
  func oneLine() {
    let hostile = "a\nb\u{1b}[31m" + String(repeating: "x", count: 500)
    for error in [
      UsageError.unexpected(hostile), .unknownCommand(hostile, nearest: nil),
      .unknownOption(hostile, nearest: nil), .invalid(name: "--app", value: hostile, expected: "it"),
    ] {
      #expect(!error.description.unicodeScalars.contains { $0.value < 0x20 })
      #expect(error.description.count < 200)
    }
  }
}
