import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Switching accounts") struct SwitchContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  private struct Offered {
    let fixture: Fixture
    let owner: OpenSession
    let guest: OpenSession

    /// A guest who found their identity at another account; the ticket is number 3.
    init(_ backend: Backend) async throws {
      fixture = try await Fixture(backend)
      owner = try await fixture.signIn(1, token: 1, 1).get()
      guest = try await fixture.signUp(2)
      let refused = try await fixture.link(1, token: 2, 3, bearer: guest.session.id).refusal
      #expect(refused == .linkedToAnotherUser)
    }

    func go(
      _ number: Int, ticket: Int = 3, bearer: UUID? = nil, _ leaving: LeftBehind = .keep,
      now: Int64 = Fixture.now + 100_000
    ) async throws -> Result<OpenSession, SignInRefusal> {
      try await fixture.accounts.switch(
        AccountSwitch(
          ticketHash: Fixture.hash(3_000 + ticket), bearer: bearer ?? guest.session.id,
          session: Fixture.id(20_000 + number), leaving: leaving, keyID: Fixture.key, now: now))
    }
  }

  @Test(
    "RULES §3.7: the ticket opens the other account, with the identity token's auth_time",
    arguments: Backend.allCases)
  func keep(backend: Backend) async throws {
    let offered = try await Offered(backend)
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
    "RULES §3.7: only its own anonymous user is discarded, and a repeat is answered all the same",
    arguments: Backend.allCases)
  func discard(backend: Backend) async throws {
    let offered = try await Offered(backend)
    let open = try await offered.go(10, .discard).get()
    #expect(try await offered.fixture.users.user(offered.guest.user.id) == nil)
    #expect(try await offered.go(11, .discard).get().session == open.session)
    #expect(try await offered.go(11, .discard, now: now + 220_000).refusal == .tokenUsed)
    #expect(try await offered.fixture.audit().contains("user_deleted: discarded"))
  }

  @Test("RULES §3.7: a user who is not anonymous any more is kept", arguments: Backend.allCases)
  func kept(backend: Backend) async throws {
    let offered = try await Offered(backend)
    let linked = try await offered.fixture.link(5, token: 5, 5, bearer: offered.guest.session.id).get()
    #expect(try await offered.go(10, .discard).get().user.id == offered.owner.user.id)
    #expect(try await offered.fixture.users.user(offered.guest.user.id) == linked.user)
  }

  @Test(
    "RULES §3.7: who is banned, leaving, gone or not the identity's user any more is not gone over to",
    arguments: Backend.allCases)
  func rechecked(backend: Backend) async throws {
    let offered = try await Offered(backend)
    let users = offered.fixture.users
    _ = try await users.update(offered.owner.user.id, UserChange(bannedUntil: .max), now: now)
    #expect(try await offered.go(10).refusal == .banned)
    _ = try await users.update(offered.owner.user.id, UserChange(bannedUntil: .some(nil)), now: now)
    let set = "update users set deleting_since ="
    try await offered.fixture.database.write { _ = try $0.execute("\(set) 1 where is_anonymous = 0") }
    #expect(try await offered.go(10).refusal == .deleting)
    try await offered.fixture.database.write { _ = try $0.execute("\(set) null") }
    _ = try await offered.fixture.events.record(
      [
        AppleEvent(
          id: "x", type: "consent-revoked", teamID: "TEAM000001", subject: "000001.sub", time: now - 2_000)
      ], now: now)
    #expect(try await offered.go(10).refusal == .consentRevoked)
    try await offered.fixture.database.write { _ = try $0.execute("delete from apple_events") }
    #expect(try await offered.fixture.accounts.signOut(offered.guest.session.id, .local, now: now))
    #expect(try await offered.go(10).refusal == .sessionNotFound)
    #expect(try await users.delete(offered.owner.user.id, now: now))
    #expect(try await offered.go(10).refusal == .challengeInvalid)
    #expect(try await offered.fixture.count("switch_tickets") == 0)
  }
}
