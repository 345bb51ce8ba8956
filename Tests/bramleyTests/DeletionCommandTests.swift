import Accounts
import Encodings
import SQL
import Stores
import Testing

@testable import bramley

@Suite("bramley admin deletions")
struct DeletionCommandTests {
  private let directory: TemporaryDirectory
  private let user = UUID(octets: [UInt8](repeating: 7, count: 16))

  init() throws { directory = try TemporaryDirectory() }

  private func bramley(_ arguments: String...) async -> CommandRun {
    await CommandRun(arguments + ["--data", directory.path])
  }

  private func withDatabase<Value: Sendable>(_ body: (Database) async throws -> Value) async throws -> Value {
    let database = try Database(.file(directory.path + "/bramley.sqlite"))
    defer { database.close() }
    try await Schema.migrate(database, now: 1)
    return try await body(database)
  }

  @Test("an account is marked, listed, shown, and tried again when Apple was given up")
  func deleted() async throws {
    let user = try #require(user)
    let identity = SealedAppleToken(
      teamID: "TEAM000001", subject: "s", clientID: "com.example.app", sealingKey: "k", sealed: [1],
      nextCheck: 0)
    try await withDatabase { database in
      _ = try await SQLUserStore(database).create(
        User(id: user, isAnonymous: false, createdAt: 1, updatedAt: 1), by: .command)
      _ = try await database.write {
        try await $0.execute(
          """
          insert into identities (id, user_id, provider, team_id, subject, status, consent_at, data, created_at,
            updated_at, last_sign_in_at) values ($1, $1, 'apple', 'TEAM000001', 's', 0, 1, '{}', 1, 1, 1)
          """, [.uuid(user.octets)])
      }
      _ = try await SQLAppleTokenStore(database).keep(identity, of: user, now: 1)
    }
    #expect(await bramley("admin", "users", "delete", "nobody").code == .usage)
    let stranger = await bramley("admin", "users", "delete", "00000000-0000-4000-8000-000000000000")
    #expect(stranger.code == .failure && stranger.errors.contains("no such user"))
    let began = await bramley("admin", "users", "delete", user.description)
    #expect(began.code == .success, "\(began.errors)")
    let operation = String(began.output.dropLast())
    let name = try #require(OperationID(operation))
    #expect(await bramley("admin", "users", "delete", user.description).output == began.output)
    let list = await bramley("admin", "deletions", "list")
    #expect(list.output.hasPrefix("\(operation)\tbegun\tuser \(user)\tasked "))
    #expect(list.output.contains("\tby command\t1 consents to end, objects to erase\tno failure"))

    try await withDatabase { database in
      let store = SQLDeletionStore(database)
      let id = try #require(try await store.deletion(.operation(name))).id
      _ = try await store.finish(id, now: 1).get()
      for _ in 0..<DeletionRule.attemptLimit {
        _ = try await store.postpone(id, failure: "Apple says invalid_client", now: 1)
      }
    }
    let shown = await bramley("admin", "deletions", "show", operation)
    #expect(shown.output.contains("consents left\tcom.example.app (given up)"))
    #expect(shown.output.contains("failure\tApple says invalid_client"))
    #expect(!shown.output.contains("TEAM000001"))
    #expect(await bramley("admin", "deletions", "retry", operation).code == .success)
    #expect(await bramley("admin", "deletions", "list").output.contains("1 consents to end"))

    try await withDatabase { database in
      let store = SQLDeletionStore(database)
      let deletion = try #require(try await store.deletion(.operation(name)))
      _ = try await store.record(
        deletion.id, token: deletion.tokens[0].id, .revoked, lease: 1, now: 1)
      _ = try await store.erased(deletion.id, "objects", lease: 1, now: 1)
    }
    #expect(await bramley("admin", "deletions", "list").output.isEmpty)
    #expect(await bramley("admin", "deletions", "list", "--all").output.contains("\tdeleted\t"))
    let settled = await bramley("admin", "deletions", "retry", operation)
    #expect(settled.code == .failure && settled.errors.contains("nothing of it is left"))
    #expect(await bramley("admin", "deletions", "show", "12").code == .usage)
    let unknown = "019c1f07e35ab844d12e6bf08315c739"
    #expect(await bramley("admin", "deletions", "show", unknown).code == .failure)
  }

  @Test("a table that refuses is named, and nothing happened")
  func blocked() async throws {
    let user = try #require(user)
    try await withDatabase { database in
      _ = try await SQLUserStore(database).create(
        User(id: user, isAnonymous: false, createdAt: 1, updatedAt: 1), by: .command)
      _ = try await database.write {
        try await $0.script("create table orders (owner blob references users (id))")
        try await $0.execute("insert into orders values ($1)", [.uuid(user.octets)])
      }
    }
    let run = await bramley("admin", "users", "delete", user.description)
    #expect(run.code == .failure && run.errors.contains("refuses"), "\(run.errors)")
    #expect(await bramley("admin", "deletions", "list", "--all").output.isEmpty)
  }
}
