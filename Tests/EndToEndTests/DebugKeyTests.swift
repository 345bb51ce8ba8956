import Foundation
import Testing

@Suite("bramley keys debug")
struct DebugKeyTests {
  @Test("a token opens the routes of a server that runs, until it is revoked")
  func life() async throws {
    let server = try await DevelopmentServer()
    let data = ["--data", server.folder.path("data")]
    let made = try await Program.run(
      ["keys", "debug", "create", "--name", "laptop", "--days", "7"] + data, in: server.folder)
    #expect(made.code == 0, "\(made.errors)")
    let token = made.output.trimmingCharacters(in: .newlines)
    #expect(token.hasPrefix("bdt_laptop_"))

    let message = [
      "-H", "authorization: Bearer \(token)", "-H", "content-type: application/json", "-H",
      "anthropic-version: 2023-06-01", "-d",
      #"{"model":"claude-haiku-4-5","max_tokens":8,"messages":[{"role":"user","content":"hello"}]}"#,
    ]
    let url = "\(server.base)/ai/anthropic/v1/messages"
    #expect(try await status(url, message) == 200)
    #expect(try await status(url, Array(message.dropFirst(2))) == 401)

    let twice = try await Program.run(
      ["keys", "debug", "create", "--name", "laptop", "--days", "7"] + data, in: server.folder)
    #expect(twice.code == 1)
    #expect(twice.output.isEmpty)
    let list = try await Program.run(["keys", "debug", "list"] + data, in: server.folder)
    #expect(list.output.hasPrefix("laptop\t"))
    #expect(!list.output.contains(token))

    #expect(try await Program.run(["keys", "debug", "revoke", "laptop"] + data, in: server.folder).code == 0)
    #expect(try await status(url, message) == 401)
    #expect(try await Program.run(["keys", "debug", "revoke", "laptop"] + data, in: server.folder).code == 1)
    #expect(!server.program.errorText.contains(token))
  }

  @Test(
    "names and days have bounds",
    arguments: [["Laptop", "7"], ["", "7"], ["a", "0"], ["a", "91"], ["a", "x"]])
  func bounds(_ pair: [String]) async throws {
    let folder = try Folder()
    let run = try await Program.run(
      ["keys", "debug", "create", "--name", pair[0], "--days", pair[1], "--data", folder.path("data")],
      in: folder)
    #expect(run.code == 64)
  }
}
