import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Switching accounts") struct SwitchContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  @Test(
    "RULES §3.7: the ticket opens the other account, with the identity token's auth_time",
    arguments: Backend.allCases)
  func keep(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let fixture = offered.fixture
    #expect(try await offered.go(10, ticket: 4).refusal == .challengeInvalid)
    let stranger = try await fixture.signUp(9)
    #expect(try await offered.go(10, bearer: stranger.session.id).refusal == .challengeInvalid)
    #expect(try await offered.go(10, now: now + 300_000).refusal == .challengeInvalid)
    let open = try await offered.go(10).get()
    #expect(open.user.id == offered.owner.user.id)
    #expect(open.session.authTime == (now - 3_000) / 1_000)
    #expect(open.session.keyID == Fixture.key)
    // RULES §3.6: one use means one outcome.
    #expect(try await offered.go(11).get().session == open.session)
    _ = try await fixture.accounts.session(open.session.id, now: now)
    #expect(try await offered.go(12).refusal == .tokenUsed)
    #expect(try await fixture.refresh(offered.guest.session.id, 0).session != nil)
    #expect(try await fixture.audit().contains("login: switched"))
  }

  @Test(
    "RULES §3.7: who is banned, leaving, gone or not the identity's user any more is not gone over to",
    arguments: Backend.allCases)
  func rechecked(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let users = offered.fixture.users
    _ = try await users.update(offered.owner.user.id, UserChange(bannedUntil: .max), now: now)
    #expect(try await offered.go(10).refusal == .banned)
    _ = try await users.update(offered.owner.user.id, UserChange(bannedUntil: .some(nil)), now: now)
    let set = "update users set deleting_since ="
    try await offered.fixture.database.write { _ = try await $0.execute("\(set) 1 where is_anonymous = 0") }
    #expect(try await offered.go(10).refusal == .deleting)
    try await offered.fixture.database.write { _ = try await $0.execute("\(set) null") }
    _ = try await offered.fixture.events.record(
      [
        AppleEvent(
          id: "x", type: "consent-revoked", teamID: "TEAM000001", subject: "000001.sub", time: now - 2_000)
      ], now: now)
    #expect(try await offered.go(10).refusal == .consentRevoked)
    try await offered.fixture.database.write { _ = try await $0.execute("delete from apple_events") }
    #expect(try await offered.fixture.accounts.signOut(offered.guest.session.id, .local, now: now))
    #expect(try await offered.go(10).refusal == .sessionNotFound)
    #expect(try await offered.fixture.delete(offered.owner.user.id, now: now))
    #expect(try await offered.go(10).refusal == .challengeInvalid)
    #expect(try await offered.fixture.count("switch_tickets") == 0)
  }
}
