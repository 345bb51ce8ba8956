import Testing

@testable import bramley

@Suite("The configuration of commands")
struct CommandConfigurationTests {
  @Test("commands run without the secrets of the provider, as an operator's shell has none")
  func withoutSecrets() async throws {
    let directory = try TemporaryDirectory()
    let data = directory.path + "/data"
    let file = try directory.write(
      Array(
        #"{"data":"\#(data)","providers":{"anthropic":{"api_key":{"env":"NO_SUCH_VARIABLE"},"models":["claude-haiku-4-5"]}}}"#
          .utf8), "b.jsonc")
    #expect(await CommandRun("migrate", "--config", file).code == .success)
    #expect(await CommandRun("admin", "usage", "--config", file).code == .success)
    #expect(await CommandRun("serve", "--config", file).code == .configuration)
  }
}
