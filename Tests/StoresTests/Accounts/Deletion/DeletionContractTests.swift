import Accounts
import Encodings
import SQL
import Stores
import Testing

@Suite("Deletions") struct DeletionContractTests {
  private typealias Fixture = DeletionFixture
  private let now = DeletionFixture.now

  @Test(
    "RULES §4.1: while deleting, nobody signs in, links, switches, refreshes or writes",
    arguments: Backend.allCases)
  func deleting(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let accounts = fixture.accounts
    let open = try await fixture.person()
    let guest = try await accounts.signUp(7)
    #expect(
      try await accounts.link(1, token: 60, 60, bearer: guest.session.id).refusal == .linkedToAnotherUser)
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    #expect(begun.state == .open && begun.id > 0 && begun.identities == 1)
    #expect(try await fixture.user(open.user.id)?.deletingSince == now)

    #expect(try await accounts.signIn(1, token: 61, 61).refusal == .deleting)
    #expect(try await accounts.link(2, token: 62, 62, bearer: open.session.id).refusal == .deleting)
    let again = AccountFixture.signIn(AccountFixture.assertion(1, token: 63), 63)
    #expect(
      try await accounts.accounts.reauthenticate(again, bearer: open.session.id).refusal == .deleting)
    let ticket = AccountSwitch(
      ticketHash: AccountFixture.hash(3_060), bearer: guest.session.id, session: AccountFixture.id(64),
      now: now)
    #expect(try await accounts.accounts.switch(ticket).refusal == .deleting)
    #expect(try await fixture.user(guest.user.id) != nil)
    #expect(try await accounts.refresh(open.session.id, 0).refusal == .deleting)
    let change = UserChange(userMetadata: ["a": 1], bannedUntil: .some(now + 1))
    #expect(
      try await accounts.users.update(open.user.id, change, now: now) == .failure(.deleting))
    let identity = try #require(open.user.identities.first)
    #expect(
      try await accounts.users.unlink(identity.id, of: open.user.id, now: now) == .deleting)
    #expect(try await accounts.isMarked(open) == true)
    // A guest who is being deleted is left alone by what removes idle ones.
    _ = try await fixture.begin(Fixture.request(guest.user.id, 2))
    #expect(try await accounts.users.idle(since: .max, after: nil, limit: 9) == [])
    #expect(
      try await fixture.store.begin(Fixture.request(guest.user.id, 3, proof: .idle(since: .max))).refusal
        == .notIdle)
  }

  @Test(
    "RULES §4.2: the user goes with everything that hangs on it; the tombstone holds no sub and no e-mail",
    arguments: Backend.allCases)
  func tombstone(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(clients: ["c"])
    try await fixture.appTable("notes", "on delete cascade", of: open.user.id)
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    let token = try #require(begun.tokens.first)
    let committed = try await fixture.store.record(
      begun.id, token: token.id, .revoked, lease: Fixture.lease, now: now + 1)
    #expect(committed?.state == .committed && committed?.revoked == 1)
    #expect(try await fixture.accounts.count("apple_tokens") == 0)
    let deleted = try await fixture.store.finish(begun.id, now: now + 2).get()
    #expect(deleted.state == .deleted && deleted.closedAt == now + 2 && !deleted.isUnfinished)
    for table in ["users", "identities", "sessions", "apple_tokens", "notes", "deletion_tokens"] {
      #expect(try await fixture.accounts.count(table) == 0, "\(table)")
    }
    let texts = try await fixture.accounts.database.read {
      try await $0.rows("select actor, policy, owed, failure from deletions") { row in
        (0..<4).map { row.string(Int32($0)) }.joined(separator: " ")
      }
    }
    #expect(texts.count == 1)
    #expect(!texts.joined().contains("sub") && !texts.joined().contains("@"))
    let audit = try await fixture.accounts.audit()
    #expect(audit.suffix(2) == ["user_deletion_begun", "user_deleted"])
    for name: DeletionName in [.operation(Fixture.operation(1)), .user(open.user.id)] {
      #expect(try await fixture.store.deletion(name) == deleted)
    }
    // Every step once more changes nothing.
    #expect(try await fixture.store.finish(begun.id, now: now + 9).get() == deleted)
    #expect(try await fixture.store.keep(begun.id, failure: "x", now: now + 9) == deleted)
    #expect(try await fixture.store.begin(Fixture.request(open.user.id)).get() == .known(deleted))
    let fresh = try await fixture.store.begin(Fixture.request(open.user.id, 2))
    #expect(fresh.refusal == .userNotFound)
    // The same Apple account signs up again, as another user.
    let back = try await fixture.accounts.signIn(1, token: 77, 77, now: now + 5_000).get()
    #expect(back.user.id != open.user.id)
    #expect(try await fixture.store.deletion(.user(back.user.id)) == nil)
  }

  @Test(
    "RULES §4.1: refused by an app's table, nothing happened: deletion_blocked", arguments: Backend.allCases)
  func blocked(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(clients: ["c"])
    try await fixture.appTable("orders", "", of: open.user.id)
    let fresh = Fixture.token(1, client: "c", sealed: [9])
    let refusal = try await fixture.store.begin(Fixture.request(open.user.id, fresh: fresh)).refusal
    guard case .blocked(let what)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    if backend == .postgreSQL { #expect(what.contains("orders")) }
    #expect(try await fixture.user(open.user.id)?.deletingSince == nil)
    #expect(try await fixture.store.deletion(.user(open.user.id)) == nil)
    #expect(try await fixture.accounts.tokens.tokens(of: open.user.id).map(\.sealed) == [[0, 7]])
    #expect(try await fixture.accounts.audit().count == 1)
    #expect(try await fixture.accounts.refresh(open.session.id, 0).session != nil)
    // Refused when it was tried well: a row that came meanwhile.
    _ = try await fixture.accounts.database.write { try await $0.execute("delete from orders") }
    let begun = try await fixture.begin(Fixture.request(open.user.id))
    _ = try await fixture.accounts.database.write {
      try await $0.execute("insert into orders (id, owner) values (2, $1)", [.uuid(open.user.id.octets)])
    }
    let late = try await fixture.store.finish(begun.id, now: now).refusal
    if case .blocked? = late {} else { Issue.record("\(String(describing: late))") }
    #expect(try await fixture.user(open.user.id)?.deletingSince == now)
    #expect(try await fixture.store.deletion(.user(open.user.id))?.state == .open)
    // So nothing had happened, and the account is given back.
    #expect(try await fixture.store.keep(begun.id, failure: "orders", now: now)?.state == .kept)
    #expect(try await fixture.user(open.user.id)?.deletingSince == nil)
    #expect(try await fixture.accounts.refresh(open.session.id, 1).session != nil)
  }

  @Test(
    "RULES §4.1: Apple failing before the first success clears the mark, and it can be asked again",
    arguments: Backend.allCases)
  func kept(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person(clients: ["a", "b"])
    let fresh = Fixture.token(1, client: "a", sealed: [9])
    let begun = try await fixture.begin(
      Fixture.request(open.user.id, fresh: fresh, owned: ["objects"]))
    #expect(begun.tokens.map(\.token.sealed) == [[0, 7], [1, 7], [9]] && begun.owed == ["objects"])
    let kept = try await fixture.store.keep(begun.id, failure: "Apple answered 503", now: now + 1)
    #expect(kept?.state == .kept && kept?.isUnfinished == false)
    #expect(try await fixture.accounts.count("deletion_tokens") == 0)
    #expect(
      try await fixture.accounts.tokens.tokens(of: open.user.id).map(\.sealed).sorted { $0[0] < $1[0] }
        == [[1, 7], [9]])
    #expect(try await fixture.store.claim(lease: .max, now: .max) == nil)
    #expect(try await fixture.accounts.signIn(1, token: 9, 9).refusal == nil)
    // By the same name, and by another one.
    let second = try await fixture.begin(Fixture.request(open.user.id, now: now + 2))
    #expect(second.id == begun.id && second.tokens.count == 2 && second.failure == nil)
    _ = try await fixture.store.keep(second.id, failure: "Apple answered 503", now: now + 3)
    let third = try await fixture.begin(Fixture.request(open.user.id, 2, now: now + 4))
    #expect(third.id != begun.id)
    #expect(try await fixture.store.deletion(.operation(Fixture.operation(1)))?.state == .kept)
    #expect(try await fixture.store.deletion(.user(open.user.id)) == third)
  }

  @Test(
    "RULES §4.1: the proof is looked at once more in the transaction that begins",
    arguments: Backend.allCases)
  func proof(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person()
    func begin(_ session: UUID, now: Int64, fresh: SealedAppleToken? = nil) async throws -> DeletionRefusal? {
      try await fixture.store.begin(
        Fixture.request(
          open.user.id, proof: .session(session, maxAge: 300), fresh: fresh, now: now)
      ).refusal
    }
    #expect(try await begin(open.session.id, now: now + 400_000) == .stepUpRequired(maxAge: 300))
    #expect(try await begin(AccountFixture.id(999), now: now) == .sessionNotFound)
    let guest = try await fixture.accounts.signUp(7)
    #expect(try await begin(guest.session.id, now: now) == .sessionNotFound)
    let foreign = Fixture.token(2)
    #expect(try await begin(open.session.id, now: now, fresh: foreign) == .appleAccountMismatch)
    let ban = UserChange(bannedUntil: .some(now + 1_000))
    _ = try await fixture.accounts.users.update(open.user.id, ban, now: now)
    #expect(try await begin(open.session.id, now: now) == .banned)
    #expect(try await fixture.accounts.count("deletions") == 0)
    #expect(try await begin(open.session.id, now: now + 1_000) == nil)
    // A guest proves the session alone, however old it is.
    let request = Fixture.request(
      guest.user.id, 2, proof: .session(guest.session.id, maxAge: 300), now: now + 9_000_000)
    #expect(try await fixture.begin(request).identities == 0)
  }

  @Test("RULES §1.8: session tokens of devices end with the mark", arguments: Backend.allCases)
  func deviceTokens(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    let open = try await fixture.person()
    try await fixture.accounts.base.register(1)
    let user = open.user.id.description
    _ = try await fixture.accounts.database.write {
      try await $0.execute(
        "insert into session_tokens (hash, device, user_id, routes, expiry) values ($1, 1, $2, 'r', 9)",
        [.blob([1]), .text(user)])
    }
    _ = try await fixture.begin(Fixture.request(open.user.id))
    #expect(try await fixture.accounts.count("session_tokens") == 0)
  }
}

extension AccountFixture {
  /// Whether the session is found, and its user marked.
  fileprivate func isMarked(_ open: OpenSession) async throws -> Bool {
    try await accounts.session(open.session.id, now: Self.now)?.user.deletingSince != nil
  }
}
