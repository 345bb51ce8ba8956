import Accounts
import AppleSimulator
import Encodings
import Testing

@testable import bramley

@Suite("bramley admin transfer")
struct TransferCommandTests {
  /// Making an RSA key takes longer than most tests.
  private static let keys = [try? SimulatedAppleKey()].compactMap(\.self)

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// A configuration of the team, with a database.
  private func configuration(hasKey: Bool = true) async throws -> String {
    let apple = try SimulatedAppleID(
      clients: [], keys: Self.keys, now: { 1_800_000_000 }, sleep: { _ in })
    let key = try directory.write(Array(try await apple.makeKey(team: "ABCDE12345").p8.utf8), "key.p8")
    let secret = hasKey ? #""key_id": "KEY1234567", "private_key": { "file": "\#(key)" },"# : ""
    _ = await CommandRun("keys", "admin", "list", "--data", directory.path)
    return try directory.write(
      Array(
        """
        {
          "data": "\(directory.path)",
          "auth": {
            "apple": { "team_id": "ABCDE12345", \(secret) "clients": [{ "id": "com.example.app" }] }
          }
        }
        """.utf8), "bramley.jsonc")
  }

  @Test(
    "a team is ten letters and digits, a day is a day",
    arguments: [
      ["export"], ["import"], ["export", "--to", "x"], ["export", "--to", "ABCDE1234é"],
      ["import", "--from", "NEWTEAM789", "--accepted", "yesterday"],
    ])
  func usage(_ arguments: [String]) async {
    #expect(await CommandRun(["admin", "transfer"] + arguments).code == .usage)
  }

  @Test("one's own team, a missing key and an unknown client are told before Apple is asked")
  func refused() async throws {
    let config = try await configuration()
    for own in ["ABCDE12345", "abcde12345"] {
      let run = await CommandRun("admin", "transfer", "export", "--to", own, "--config", config)
      #expect(run.code == .failure && run.errors.contains("a transfer needs two"), "\(run.errors)")
    }
    let other = await CommandRun(
      "admin", "transfer", "export", "--to", "NEWTEAM789", "--client", "com.example.other", "--config", config
    )
    #expect(other.code == .failure && other.errors.contains("auth.apple.clients"))
    let late = await CommandRun(
      "admin", "transfer", "import", "--from", "NEWTEAM789", "--accepted", "2020-01-01", "--dry-run",
      "--config",
      config)
    #expect(late.code == .failure && late.errors.contains("sixty days"), "\(late.errors)")
    let without = try await configuration(hasKey: false)
    let keyless = await CommandRun("admin", "transfer", "export", "--to", "NEWTEAM789", "--config", without)
    #expect(keyless.code == .failure && keyless.errors.contains("auth.apple has no key"))
  }

  @Test("a line of the export holds no subject and no address, and is read again")
  func lines() throws {
    let id = try #require(UUID("5f0c0c4e-93a1-4d4e-9f0b-0d8f6f1b2a3c"))
    let line = TransferLine(
      .init(identity: id, user: id, subject: "000001.secret", identifier: "t1", result: .exported))
    let text = line.json.text
    #expect(!text.contains("secret") && !text.contains("@"))
    let read = try #require(TransferLine(text.utf8))
    #expect(read.identity == id && read.identifier == "t1")
    for wrong in ["", "{}", "[]", #"{"identity":"x","transfer_sub":"t"}"#, #"{"identity":"\#(id)"}"#] {
      #expect(TransferLine(wrong.utf8) == nil)
    }
  }
}
