import Foundation
import Testing

@Suite("bramley serve")
struct ServeTests {
  private func production(data: String) -> String {
    """
    {
      "environment": "production",
      "listen": "127.0.0.1:1", // a port that only root can have: it is not reached
      "admin": { "listen": "127.0.0.1:0" },
      "data": "\(data)",
      "attest": {
        "audiences": ["https://api.example.com"], "apps": [{ "app_id": "TEAMID1234.com.example.app" }]
      },
      "providers": { "anthropic": { "api_key": { "env": "KEY" }, "models": ["claude-haiku-4-5"] } }
    }
    """
  }

  @Test("RULES §1.6: production refuses a database that dev has used")
  func marked() async throws {
    let server = try await DevelopmentServer()
    #expect(try await server.stop() == 0)
    let file = try server.folder.write(production(data: server.folder.path("data")), "bramley.jsonc")
    let run = try await Program.run(
      ["serve", "--config", file], in: server.folder, environment: ["KEY": "sk-example"])
    #expect(run.code == 78)
    #expect(run.errors.contains("was used by `bramley dev`"), "\(run.errors)")
  }

  @Test("every mistake is named at once, with 78, and no secret is shown")
  func mistakes() async throws {
    let folder = try Folder()
    let file = try folder.write(
      """
      { "enviroment": "production", "time_zone": "Mars/Olympus", "listen": "here",
        "providers": { "anthropic": { "api_key": { "env": "KEY" }, "models": [] } } }
      """, "bramley.jsonc")
    let run = try await Program.run(
      ["serve", "--config", file], in: folder, environment: ["KEY": "sk-secret with blanks"])
    #expect(run.code == 78)
    for part in ["enviroment", "time_zone", "listen", "providers.anthropic.models", "api_key", "mistakes"] {
      #expect(run.errors.contains(part), "\(part): \(run.errors)")
    }
    #expect(!run.errors.contains("sk-secret"))
    #expect(run.output.isEmpty)
  }

  @Test("a file that is not there, and a port that another server of ours has, are one line")
  func oneLine() async throws {
    let server = try await DevelopmentServer()
    let missing = try await Program.run(["serve", "--config", "none.jsonc"], in: server.folder)
    #expect(missing.code == 78)
    #expect(missing.errors.split(separator: "\n").count == 1)
    let listen = String(server.base.dropFirst("http://".count))
    let taken = try await Program.run(
      ["serve"], in: server.folder,
      environment: ["BRAMLEY_LISTEN": listen, "BRAMLEY_DATA": "other", "BRAMLEY_ADMIN_LISTEN": "127.0.0.1:0"])
    #expect(taken.code == 1)
    #expect(taken.errors.contains("cannot listen on \(listen)"), "\(taken.errors)")
  }
}
