import Admission
import BramleyTesting
import HTTPMessages
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
}
