import Accounts
import SQL
import Server
import Stores
import Testing

@testable import bramley

@Suite("bramley keys admin")
struct AdminKeyTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func bramley(_ arguments: String...) async -> CommandRun {
    await CommandRun(arguments + ["--data", directory.path])
  }

  @Test("RULES §6.1: a key is printed once, kept as its hash, and ends when it is revoked")
  func life() async throws {
    let made = await bramley("keys", "admin", "create", "--name", "backend")
    #expect(made.code == .success, "\(made.errors)")
    let key = String(made.output.dropLast())
    #expect(key.hasPrefix("sb_secret_"))
    #expect(key.utf8.count == 10 + 43)
    #expect(!made.errors.contains(key))
    #expect(await bramley("keys", "admin", "create", "--name", "backend").code == .failure)
    let list = await bramley("keys", "admin", "list")
    #expect(list.output.hasPrefix("backend\tsince 20"))
    #expect(!list.output.contains(key))
    let database = try Database(.file(directory.path + "/bramley.sqlite"))
    let store = SQLAdminKeyStore(database)
    #expect(try await store.adminKey(hash: Token.hash(key)) == "backend")
    #expect(await bramley("keys", "admin", "revoke", "backend").code == .success)
    #expect(try await store.adminKey(hash: Token.hash(key)) == nil)
    #expect(await bramley("keys", "admin", "revoke", "backend").code == .failure)
    database.close()
    #expect(await bramley("keys", "admin", "list").output.isEmpty)
  }

  @Test("names have bounds", arguments: ["", "Backend", "a b", String(repeating: "a", count: 33)])
  func names(_ name: String) async {
    #expect(await bramley("keys", "admin", "create", "--name", name).code == .usage)
  }
}
