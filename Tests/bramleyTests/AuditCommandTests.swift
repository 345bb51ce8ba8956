import Encodings
import Testing

@testable import bramley

@Suite("bramley admin audit")
struct AuditCommandTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func bramley(_ arguments: String...) async -> CommandRun {
    await CommandRun(arguments + ["--data", directory.path])
  }

  @Test("operators' commands are in the log, as a table and as JSON, without the key")
  func commands() async throws {
    let made = await bramley("keys", "admin", "create", "--name", "backend")
    #expect(made.code == .success, "\(made.errors)")
    _ = await bramley("keys", "debug", "create", "--name", "ci", "--days", "1")
    let rotated = await bramley("keys", "signing", "rotate")
    #expect(rotated.code == .success, "\(rotated.errors)")
    _ = await bramley("keys", "admin", "revoke", "backend")
    let table = await bramley("admin", "audit")
    #expect(table.code == .success, "\(table.errors)")
    let lines = table.output.split(separator: "\n")
    #expect(lines.first?.hasPrefix("time ") == true)
    #expect(lines.count == 5)
    #expect(lines[1].contains("admin_key_revoked") && lines[1].contains("command"))
    #expect(lines[4].contains("admin_key_created") && lines[4].hasSuffix("backend"))
    #expect(!table.output.contains(made.output.dropLast()))

    let json = await bramley("admin", "audit", "--json", "--action", "signing_key_rotated")
    let entries = try #require(try JSONReader.read(Array(json.output.utf8))["entries"]?.elements)
    #expect(entries.map { $0["reason"]?.string } == [String(rotated.output.dropLast())])
    #expect(entries.first?["actor"]?.string == "command")
    #expect(await bramley("admin", "audit", "--limit", "2").output.split(separator: "\n").count == 3)
    let none = await bramley("admin", "audit", "--user", "00000000-0000-4000-8000-000000000000")
    #expect(none.output.isEmpty && none.code == .success)
  }

  @Test(
    "what is misspelt is told",
    arguments: [["--user", "x"], ["--action", "x"], ["--from", "x"], ["--limit", "0"]])
  func mistakes(_ arguments: [String]) async {
    #expect(await CommandRun(["admin", "audit"] + arguments + ["--data", directory.path]).code == .usage)
  }

  @Test("a database of before is not read")
  func noDatabase() async { #expect(await bramley("admin", "audit").code == .failure) }
}
