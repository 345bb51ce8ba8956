import Foundation
import Server
import Testing

@Suite("The example of docs/configuration.md")
struct DocumentedConfigurationTests {
  private static let document = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "docs/configuration.md")

  private func sources(variables: [String: String]) throws -> ConfigurationSources {
    let text = try String(contentsOf: Self.document, encoding: .utf8)
    let block = try #require(text.components(separatedBy: "```jsonc\n").dropFirst().first)
    let example = try #require(block.components(separatedBy: "\n```").first)
    return ConfigurationSources(
      text: Array(example.utf8), variables: variables, zoneExists: { $0 == "Europe/Berlin" })
  }

  @Test("it is good, once its secret is there")
  func good() throws {
    let configuration = try Configuration.read(sources(variables: ["ANTHROPIC_API_KEY": "sk-example"]))
    #expect(configuration.deployment == .production)
    #expect(configuration.timeZone == "Europe/Berlin")
    #expect(configuration.anthropic?.models == ["claude-haiku-4-5"])
  }

  @Test("without the secret the one mistake is named")
  func withoutSecret() throws {
    let error = #expect(throws: ConfigurationMistakes.self) {
      try Configuration.read(sources(variables: [:]))
    }
    #expect(error?.mistakes.map(\.path) == ["providers.anthropic.api_key.env"])
  }
}
