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
      owned: [String] = [], now: Int64 = Fixture.now + 100_000
    ) async throws -> Result<OpenSession, SignInRefusal> {
      try await fixture.accounts.switch(
        AccountSwitch(
          ticketHash: Fixture.hash(3_000 + ticket), bearer: bearer ?? guest.session.id,
          session: Fixture.id(20_000 + number), leaving: leaving, owned: owned, keyID: Fixture.key, now: now))
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

  @Test(
    "RULES §3.7, §4.1: where something of the user is to be erased first, discarding begins the deletion",
    arguments: Backend.allCases)
  func discardOwned(backend: Backend) async throws {
    let offered = try await Offered(backend)
    let fixture = offered.fixture
    let open = try await offered.go(10, .discard, owned: ["files"]).get()
    #expect(try await fixture.users.user(offered.guest.user.id)?.deletingSince == now + 100_000)
    #expect(try await fixture.refresh(offered.guest.session.id, 0).refusal == .deleting)
    // A repeat begins no other.
    #expect(try await offered.go(11, .discard, owned: ["files"]).get().session == open.session)
    #expect(try await fixture.count("deletions") == 1)
    let store = SQLDeletionStore(fixture.database)
    let due = try #require(try await store.claim(lease: now + 200_000, now: now + 100_000))
    #expect(due.user == offered.guest.user.id && due.owed == ["files"] && due.policy == .eventual)
    _ = try await store.erased(due.id, "files", lease: now + 200_000, now: now + 100_001)
    #expect(try await store.finish(due.id, now: now + 100_002).get().state == .deleted)
    #expect(try await fixture.users.user(offered.guest.user.id) == nil)
    #expect(try await fixture.audit().contains("user_deleted: discarded"))
    #expect(try await offered.go(11, .discard, owned: ["files"]).get().session == open.session)
  }

  @Test(
    "RULES §4.1: a table that keeps the user refuses the discarding: nothing happened, and keeping works",
    arguments: Backend.allCases)
  func discardBlocked(backend: Backend) async throws {
    let offered = try await Offered(backend)
    let fixture = offered.fixture
    try await fixture.database.write { transaction in
      try transaction.script(
        "create table orders (id integer primary key, owner blob /*uuid*/ not null references users (id)) strict"
      )
      try transaction.execute(
        "insert into orders (id, owner) values (1, $1)", [.uuid(offered.guest.user.id.octets)])
    }
    let before = try await (
      fixture.count("sessions"), fixture.count("deletions"), fixture.users.user(offered.owner.user.id)
    )
    guard case .discardBlocked = try await offered.go(10, .discard, owned: ["files"]).refusal else {
      Issue.record("a table of the app's refuses")
      return
    }
    let after = try await (
      fixture.count("sessions"), fixture.count("deletions"), fixture.users.user(offered.owner.user.id)
    )
    #expect(before == after)
    #expect(try await fixture.users.user(offered.guest.user.id) == offered.guest.user)
    #expect(try await offered.go(11).get().user.id == offered.owner.user.id)
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
