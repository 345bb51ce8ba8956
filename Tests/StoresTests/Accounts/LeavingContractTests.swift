import Accounts
import Encodings
import SQL
import Stores
import Testing

/// What becomes of the anonymous user that a switch leaves behind.
@Suite("Who is left behind at a switch") struct LeavingContractTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  @Test(
    "RULES §3.7: only the session that the ticket opened says discard, and a repeat is answered all the same",
    arguments: Backend.allCases)
  func discard(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let fixture = offered.fixture
    let open = try await offered.go(10).get()
    #expect(try await offered.guestNow() == offered.guest.user)
    // Neither the session that was left, nor another one of the same owner, nor a stranger's.
    let stranger = try await fixture.signUp(7)
    for session in [offered.guest, offered.owner, stranger].map(\.session.id) {
      #expect(try await offered.say(.discard, by: session).refusal == .nothingLeftBehind)
      #expect(try await offered.say(.keep, by: session).refusal == .nothingLeftBehind)
    }
    #expect(try await offered.say(.discard, by: Fixture.id(99)).refusal == .sessionNotFound)
    #expect(try await offered.guestNow() == offered.guest.user)
    let deletion = try #require(try await offered.say(.discard, by: open.session.id).get())
    #expect(deletion.user == offered.guest.user.id && deletion.state == .deleted && !deletion.isUnfinished)
    #expect(try await offered.guestNow() == nil)
    #expect(try await fixture.audit().contains("user_deleted: discarded"))
    // The answer was lost.
    #expect(try await offered.say(.discard, by: open.session.id).get() == nil)
    #expect(try await fixture.count("deletions") == 1)
    // Once: the other word comes too late.
    #expect(try await offered.say(.keep, by: open.session.id).refusal == .nothingLeftBehind)
    #expect(try await fixture.users.user(offered.owner.user.id) != nil)
    #expect(try await fixture.users.user(stranger.user.id) != nil)
  }

  @Test(
    "RULES §3.7: who is kept stays, said or not, and is not discarded afterwards", arguments: Backend.allCases
  )
  func keep(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let open = try await offered.go(10).get()
    for _ in 0..<2 { #expect(try await offered.say(.keep, by: open.session.id).get() == nil) }
    #expect(try await offered.say(.discard, by: open.session.id).refusal == .nothingLeftBehind)
    #expect(try await offered.guestNow() == offered.guest.user)
    #expect(try await offered.fixture.refresh(offered.guest.session.id, 0).session != nil)
    // A second ticket, and a second session, whose other word comes too late.
    #expect(
      try await offered.fixture.link(1, token: 8, 8, bearer: offered.guest.session.id).refusal
        == .linkedToAnotherUser)
    let second = try await offered.go(11, ticket: 8).get()
    #expect(try await offered.say(.discard, by: second.session.id).refusal == .nothingLeftBehind)
    #expect(try await offered.guestNow() != nil)
    #expect(try await offered.say(.keep, by: second.session.id).get() == nil)
    #expect(try await offered.say(.keep, by: open.session.id).get() == nil)
  }

  @Test(
    "RULES §3.7, §4.1: where something of the user is to be erased first, discarding begins the deletion",
    arguments: Backend.allCases)
  func owned(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let fixture = offered.fixture
    let open = try await offered.go(10).get()
    let begun = try await offered.say(.discard, by: open.session.id, owned: ["files"]).get()
    #expect(begun?.isUnfinished == true)
    #expect(try await offered.guestNow()?.deletingSince == now + 100_000)
    #expect(try await fixture.refresh(offered.guest.session.id, 0).refusal == .deleting)
    // A repeat begins no other.
    #expect(try await offered.say(.discard, by: open.session.id, owned: ["files"]).get() == nil)
    #expect(try await fixture.count("deletions") == 1)
    let store = SQLDeletionStore(fixture.database)
    let due = try #require(try await store.claim(lease: now + 200_000, now: now + 100_000))
    #expect(due.user == offered.guest.user.id && due.owed == ["files"] && due.policy == .eventual)
    _ = try await store.erased(due.id, "files", lease: now + 200_000, now: now + 100_001)
    #expect(try await store.finish(due.id, now: now + 100_002).get().state == .deleted)
    #expect(try await offered.guestNow() == nil)
    #expect(try await fixture.audit().contains("user_deleted: discarded"))
    #expect(try await offered.say(.discard, by: open.session.id, owned: ["files"]).get() == nil)
  }

  @Test(
    "RULES §3.7: a discarding that was taken back may be said once more", arguments: Backend.allCases)
  func takenBack(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let open = try await offered.go(10).get()
    let begun = try #require(
      try await offered.say(.discard, by: open.session.id, owned: ["files"]).get())
    let store = SQLDeletionStore(offered.fixture.database)
    #expect(try await store.keep(begun.id, failure: "x", now: now)?.state == .kept)
    #expect(try await offered.guestNow()?.deletingSince == nil)
    #expect(try await offered.say(.keep, by: open.session.id).refusal == .nothingLeftBehind)
    #expect(try await offered.say(.discard, by: open.session.id).get()?.state == .deleted)
    #expect(try await offered.guestNow() == nil)
  }

  @Test(
    "RULES §4.1: a table that keeps the user refuses the discarding: nothing happened, and keeping works",
    arguments: Backend.allCases)
  func blocked(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let fixture = offered.fixture
    let open = try await offered.go(10).get()
    try await fixture.database.write { transaction in
      try await transaction.script(
        "create table orders (id integer primary key, owner blob /*uuid*/ not null references users (id)) strict"
      )
      try await transaction.execute(
        "insert into orders (id, owner) values (1, $1)", [.uuid(offered.guest.user.id.octets)])
    }
    for owned in [[], ["files"]] {
      guard case .discardBlocked = try await offered.say(.discard, by: open.session.id, owned: owned).refusal
      else {
        Issue.record("a table of the app's refuses")
        return
      }
    }
    #expect(try await fixture.count("deletions") == 0)
    #expect(try await offered.guestNow() == offered.guest.user)
    #expect(try await offered.say(.keep, by: open.session.id).get() == nil)
  }

  @Test(
    "RULES §3.7: of two sessions that left the same user, the one that says that they stay is heard",
    arguments: Backend.allCases)
  func twice(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let first = try await offered.go(10).get()
    #expect(
      try await offered.fixture.link(1, token: 6, 6, bearer: offered.guest.session.id).refusal
        == .linkedToAnotherUser)
    let second = try await offered.go(11, ticket: 6, bearer: offered.guest.session.id).get()
    #expect(try await offered.say(.keep, by: first.session.id).get() == nil)
    #expect(try await offered.say(.discard, by: second.session.id).refusal == .nothingLeftBehind)
    #expect(try await offered.guestNow() == offered.guest.user)
    #expect(try await offered.say(.keep, by: second.session.id).get() == nil)
    #expect(try await offered.fixture.count("deletions") == 0)
  }

  @Test(
    "RULES §3.7: who is not anonymous any more is kept: nothing is discarded", arguments: Backend.allCases)
  func named(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let open = try await offered.go(10).get()
    let linked = try await offered.fixture.link(5, token: 5, 5, bearer: offered.guest.session.id).get()
    for word in LeftBehind.allCases {
      #expect(try await offered.say(word, by: open.session.id).refusal == .nothingLeftBehind)
    }
    #expect(try await offered.guestNow() == linked.user)
    // A user with an identity who goes over leaves nobody behind who could be discarded.
    #expect(
      try await offered.fixture.link(1, token: 6, 6, bearer: linked.session.id).refusal
        == .linkedToAnotherUser)
    let second = try await offered.go(11, ticket: 6, bearer: linked.session.id).get()
    #expect(try await offered.say(.discard, by: second.session.id).refusal == .nothingLeftBehind)
    #expect(try await offered.guestNow() == linked.user)
  }

  @Test(
    "RULES §3.7, §4.1: banned, leaving or gone, on either side, nobody is discarded",
    arguments: Backend.allCases)
  func rechecked(backend: Backend) async throws {
    let offered = try await OfferedSwitch(backend)
    let (fixture, users) = (offered.fixture, offered.fixture.users)
    let open = try await offered.go(10).get()
    let say = { try await offered.say(.discard, by: open.session.id).refusal }
    // Of the guest's standing the bearer is told nothing.
    let cases: [(UUID, SignInRefusal, SignInRefusal)] = [
      (offered.owner.user.id, .banned, .deleting),
      (offered.guest.user.id, .nothingLeftBehind, .nothingLeftBehind),
    ]
    for (user, banned, deleting) in cases {
      _ = try await users.update(user, UserChange(bannedUntil: .max), now: now)
      #expect(try await say() == banned)
      _ = try await users.update(user, UserChange(bannedUntil: .some(nil)), now: now)
      try await fixture.database.write {
        _ = try await $0.execute("update users set deleting_since = 1 where id = $1", [.uuid(user.octets)])
      }
      #expect(try await say() == deleting)
      try await fixture.database.write { _ = try await $0.execute("update users set deleting_since = null") }
    }
    #expect(try await offered.guestNow() != nil)
    // Gone by their own word meanwhile.
    let store = SQLDeletionStore(fixture.database)
    let begun = try await store.begin(DeletionFixture.request(offered.guest.user.id)).get().deletion
    #expect(try await store.finish(begun.id, now: now).get().state == .deleted)
    #expect(try await say() == .nothingLeftBehind)
    // With the session goes what it had to say.
    #expect(try await fixture.accounts.signOut(open.session.id, .local, by: .user, now: now))
    #expect(try await say() == .sessionNotFound)
    #expect(try await fixture.count("left_users") == 0)
  }
}
