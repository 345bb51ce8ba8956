import Encodings
import Testing

@testable import Server

@Suite("The section functions")
struct FunctionSectionTests {
  private static let secret = "sk-ant-simulated"

  private func mistakes(_ function: String, files: [String: String] = [:]) -> [String] {
    let text = #"""
      {
        "providers": { "anthropic": { "api_key": { "env": "KEY" }, "models": ["claude-haiku-4-5"] } },
        "functions": { "f": \#(function) }
      }
      """#
    do throws(ConfigurationMistakes) {
      _ = try Configuration.read(
        ConfigurationSources(
          text: Array(text.utf8), variables: ["KEY": Self.secret],
          readFile: { files[$0].map { Array($0.utf8) } }))
      return []
    } catch {
      return error.mistakes.map { "\($0.path): \($0.problem)" }
    }
  }

  private func base(_ more: String = "") -> String {
    #"{ "provider": "anthropic", "model": "claude-haiku-4-5", "template": "Hello."\#(more) }"#
  }

  @Test("a function with nothing wrong is taken, its template from a file too")
  func good() {
    #expect(mistakes(base()) == [])
    let filed = #"""
      { "provider": "anthropic", "model": "claude-haiku-4-5", "template": { "file": "p.txt" },
        "input": { "a": { "type": "list", "max_count": 3, "items": { "type": "integer", "minimum": 1, "maximum": 2 } } } }
      """#
    #expect(mistakes(filed, files: ["p.txt": "Sum {{a}}."]) == [])
    #expect(mistakes(filed) == ["functions.f.template: the file cannot be read"])
  }

  @Test(
    "each mistake is named",
    arguments: [
      (#", "sytem": "x""#, "functions.f.sytem: there is no such key"),
      (#", "max_tokens": 100000"#, "functions.f.max_tokens: no more than 4096 tokens pass"),
      (#", "temperature": 3"#, "functions.f.temperature: this is no temperature"),
      (#", "cache": "2h""#, "functions.f.cache: this is no time to keep a prompt"),
      (#", "cache": "5m""#, "functions.f: only a system text without places can be kept"),
      (
        #", "result": "store""#,
        "functions.f.sign_in: what is stored belongs to a user, and nobody has to be one"
      ),
      (#", "policy": "none""#, "functions.f.policy: a function without proof needs a daily cap of its own"),
      (#", "sign_in": "identity""#, "functions.f.sign_in: nobody can sign in here"),
      (
        #", "max_age": 60"#, "functions.f.max_age: only a user with an identity can prove themself again"
      ),
      (#", "kind": "image""#, "functions.f.provider: this provider draws no images"),
      (#", "input": { "a": { "type": "boolean" } }"#, "functions.f: the field a has no place in the prompt"),
      (#", "input": { "A": { "type": "boolean" } }"#, "functions.f.input.A: this is no name for a field"),
      (#", "input": { "a": { "type": "string" } }"#, "functions.f.input.a.max_length: max_length is missing"),
      (
        #", "input": { "a": { "type": "integer", "minimum": 2, "maximum": 1 } }"#,
        "functions.f.input.a.maximum: this is less than minimum"
      ),
      (
        #", "input": { "a": { "type": "boolean", "max_length": 3 } }"#,
        "functions.f.input.a.max_length: max_length says nothing of boolean"
      ),
      (
        #", "input": { "a": { "type": "list", "max_count": 3, "items": { "type": "image" } } }"#,
        "functions.f.input.a.items.type: a list has no image in it"
      ),
    ])
  func each(_ more: String, _ mistake: String) {
    let all = mistakes(base(more))
    #expect(all.contains(mistake), "\(all)")
  }

  @Test("a place without a field, a model without a price and a provider that is not there are mistakes")
  func whole() {
    #expect(
      mistakes(#"{ "provider": "anthropic", "model": "claude-haiku-4-5", "template": "{{dish}}" }"#)
        == ["functions.f: {{dish}} is no field of input"])
    #expect(
      mistakes(#"{ "provider": "anthropic", "model": "claude-9", "template": "x" }"#).first?
        .contains("the provider's rules refuse the function's request") == true)
    #expect(
      mistakes(#"{ "provider": "openai", "model": "gpt-4.1-mini", "template": "x" }"#)
        == ["functions.f.provider: there is no such provider"])
    #expect(
      mistakes(#"{ "provider": "anthropic", "model": "claude-haiku-4-5", "kind": "chat" }"#)
        == ["functions.f.messages: the last message is not the user's"])
  }

  @Test("all mistakes come at once")
  func atOnce() {
    let all = mistakes(base(#", "temperature": 3, "cache": "2h", "nothing": 1, "sign_in": "identity""#))
    #expect(all.count == 4, "\(all)")
  }
}
