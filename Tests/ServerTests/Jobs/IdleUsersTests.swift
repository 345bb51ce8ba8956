import Accounts
import Admission
import BramleyTesting
import Encodings
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

@Suite("Idle users") struct IdleUsersTests {
  @Test("RULES §3.10: nobody is removed unless the operator says so")
  func off() async throws {
    let server = try await AccountServer()
    #expect(!server.whole.server.jobs.contains { $0.name == "remove_idle_users" })
  }

  @Test("RULES §3.10: who was not seen for so many days goes, who was refreshed stays")
  func removal() async throws {
    let server = try await AccountServer { $0.auth?.anonymousIdleDays = 180 }
    let (gone, kept) = (try await server.signUp(), try await server.signUp())
    let job = try #require(server.whole.server.jobs.first { $0.name == "remove_idle_users" })
    #expect(job.nodes == .oneNode)
    server.whole.clock.advance(seconds: 180 * 86_400 - 60)
    let seen = try await ClientSession(server.refresh(kept.refreshToken))
    #expect(await job.run() == .done)
    #expect(try await storedUsers(server).users(offset: 0, limit: 9).total == 2)
    server.whole.clock.advance(seconds: 120)
    #expect(await job.run() == .done)
    #expect(try await Outcome(server.refresh(gone.refreshToken)) == Outcome(400, "refresh_token_not_found"))
    #expect(try await ClientSession(server.refresh(seen.refreshToken)).userID == kept.userID)
    #expect(
      server.whole.lines.values.contains { $0.contains("idle_users_removed") && $0.contains("\"count\":1") })
  }

  @Test(
    "RULES §3.10, §4.1: what other parts keep for them goes as in every deletion, also when that fails first")
  func owned() async throws {
    let files = InMemoryFiles()
    let apple = try await AppleServer({ $0.auth?.anonymousIdleDays = 180 }, owned: [files])
    let server = apple.server
    let user = try #require(UUID(try await server.signUp().userID))
    let kept = try #require(UUID(try await apple.signIn().userID))
    files.put("a", of: user)
    files.put("b", of: kept)
    let job = try #require(server.whole.server.jobs.first { $0.name == "remove_idle_users" })
    server.whole.clock.advance(seconds: 180 * 86_400 + 60)
    files.fail(true)
    #expect(await job.run() == .done)
    // What cannot be erased does not stop the deletion.
    #expect(try await storedUsers(server).user(user) == nil)
    #expect(files.files(of: user) == ["a"])
    files.fail(false)
    try await apple.resume(after: 600)
    #expect(files.files(of: user) == [] && files.files(of: kept) == ["b"])
  }

  @Test("RULES §4.1: one whom a table of the app's keeps stays, and holds up no other")
  func blocked() async throws {
    let server = try await AccountServer { $0.auth?.anonymousIdleDays = 180 }
    var sessions: [ClientSession] = []
    for _ in 0..<4 { sessions.append(try await server.signUp()) }
    let users = sessions.map(\.userID).sorted()
    let first = try #require(UUID(users[0]))
    try await server.whole.database.write { transaction in
      try await transaction.script(
        "create table orders (id integer primary key, owner blob not null references users (id)) strict")
      try await transaction.execute("insert into orders (owner) values ($1)", [.blob(first.octets)])
    }
    let job = try #require(server.whole.server.jobs.first { $0.name == "remove_idle_users" })
    server.whole.clock.advance(seconds: 180 * 86_400 + 60)
    #expect(await job.run() == .done)
    let left = try await storedUsers(server).users(offset: 0, limit: 9).users
    #expect(left.map(\.id) == [first] && left.first?.deletingSince == nil)
  }
}
