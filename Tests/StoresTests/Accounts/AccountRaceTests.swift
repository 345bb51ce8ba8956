import Accounts
import BramleyTesting
import Encodings
import Glibc
import SQL
import Stores
import System
import Testing

/// RULES of accounts among 50 at once: on SQLite two openings of one file, as two processes have, on PostgreSQL
/// three nodes.
@Suite("Accounts, 50 at once", .serialized) struct AccountRaceTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  /// Several openings of one database.
  private final class Nodes: Sendable {
    let fixture: Fixture
    let databases: [Database]

    init(_ backend: Backend) async throws {
      let fixture = try await Fixture(backend)
      self.fixture = fixture
      databases =
        switch backend {
        case .memory: [fixture.database]
        case .disk: [fixture.database, try Database(.file(fixture.base.path))]
        case .postgreSQL:
          try (0..<3).map { _ in
            var settings = StoreFixture.postgres(TestPostgres.shared ?? "")
            settings.schema = fixture.base.schema
            settings.connections = 8
            return try Database(.postgreSQL(settings))
          }
        }
    }

    deinit { for database in databases { database.close() } }

    func accounts(_ number: Int) -> SQLAccountStore { SQLAccountStore(databases[number % databases.count]) }
    func users(_ number: Int) -> SQLUserStore { SQLUserStore(databases[number % databases.count]) }

    /// What 50 get, who come at once.
    func all<Value: Sendable>(
      _ body: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> [Value] {
      try await withThrowingTaskGroup(of: Value.self) { group in
        for number in 0..<50 { group.addTask { try await body(number) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
  }

  @Test("first sign-ins make one user", arguments: Backend.allCases)
  func signIn(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let opened = try await nodes.all { number in
      let signIn = Fixture.signIn(Fixture.assertion(1, token: number), number)
      return try await nodes.accounts(number).signIn(signIn).get()
    }
    #expect(Set(opened.map(\.user.id)).count == 1)
    #expect(Set(opened.map(\.session.id)).count == 50)
    #expect(try await nodes.fixture.count("users") == 1)
    #expect(try await nodes.fixture.count("identities") == 1)
    #expect(try await nodes.fixture.count("sessions") == 50)
    #expect(try await nodes.fixture.audit().count { $0.hasPrefix("user_signedup") } == 1)
  }

  @Test("RULES §3.6: one request that is sent 50 times opens one session", arguments: Backend.allCases)
  func oneRequest(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let opened = try await nodes.all { number in
      let signIn = Fixture.signIn(Fixture.assertion(1, token: 1), number)
      return try await nodes.accounts(number).signIn(signIn).get()
    }
    #expect(Set(opened.map(\.session.id)).count == 1)
    #expect(try await nodes.fixture.count("sessions") == 1)
  }

  @Test("RULES §2.1: of 50 tokens that answer one challenge, one is taken", arguments: Backend.allCases)
  func challenge(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    try await nodes.fixture.tokens.add(
      AppleChallenge(hash: Fixture.hash(7), purpose: .signIn, expiresAt: now + 1), now: now)
    let refusals = try await nodes.all { number in
      // Other people each, so that nothing else makes them wait.
      var assertion = Fixture.assertion(number, token: number)
      assertion.challengeHash = Fixture.hash(7)
      return try await nodes.accounts(number).signIn(Fixture.signIn(assertion, number)).refusal
    }
    #expect(refusals.count { $0 == nil } == 1)
    #expect(refusals.count { $0 == .challengeInvalid } == 49)
    #expect(try await nodes.fixture.count("users") == 1)
  }

  @Test("one identity becomes one user's, whoever links it", arguments: Backend.allCases)
  func link(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let guests = try await nodes.all { try await nodes.fixture.signUp($0).session.id }
    let refusals = try await nodes.all { number in
      let link = Fixture.link(Fixture.assertion(1, token: number), 100 + number, bearer: guests[number])
      return try await nodes.accounts(number).link(link).refusal
    }
    #expect(refusals.count { $0 == nil } == 1)
    #expect(refusals.count { $0 == .linkedToAnotherUser } == 49)
    #expect(try await nodes.fixture.count("identities") == 1)
    #expect(try await nodes.fixture.count("switch_tickets") == 49)
    let linked = try await nodes.fixture.users.users(offset: 0, limit: 100).users.filter { !$0.isAnonymous }
    #expect(linked.count == 1)
  }

  @Test("RULES §3.2: a user gets one identity, whichever of 50 is linked", arguments: Backend.allCases)
  func linkMany(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let guest = try await nodes.fixture.signUp(1)
    let refusals = try await nodes.all { number in
      let link = Fixture.link(
        Fixture.assertion(number, token: number), 100 + number, bearer: guest.session.id)
      return try await nodes.accounts(number).link(link).refusal
    }
    #expect(refusals.count { $0 == nil } == 1)
    #expect(refusals.count { $0 == .tooManyIdentities } == 49)
    #expect(try await nodes.fixture.users.user(guest.user.id)?.identities.count == 1)
    #expect(try await nodes.fixture.count("sessions") == 2)
  }

  @Test(
    "RULES §4.1: a refresh that waits while a deletion begins, or a ban, sees it",
    arguments: Backend.allCases,
    [true, false])
  func waited(backend: Backend, isBan: Bool) async throws {
    let fixture = try await AccountFixture(backend)
    let open = try await fixture.signUp(1)
    let isLocked = Locked(false)
    let change = isBan ? "banned_until = \(Int64.max)" : "deleting_since = 1"
    let lock = backend == .postgreSQL ? " for update" : ""
    async let changing: Void = fixture.database.write { transaction in
      try await transaction.execute("update users set \(change) where id = $1", [.uuid(open.user.id.octets)])
      _ = try await transaction.first(
        "select id from sessions where id = $1\(lock)", [.uuid(open.session.id.octets)]
      ) {
        $0.bytes(0)
      }
      isLocked.withLock { $0 = true }
      // So long that the refresh is there, most times.
      if backend == .postgreSQL {
        _ = try await transaction.first("select pg_sleep(0.2)") { _ in true }
      } else {
        usleep(200_000)
      }
    }
    while !isLocked.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
    let refusal = try await fixture.refresh(open.session.id, 0).refusal
    try await changing
    #expect(refusal == (isBan ? .banned : .deleting))
  }

  @Test("RULES §3.7: a ticket opens one session", arguments: Backend.allCases)
  func ticket(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let offered = try await OfferedSwitch(nodes.fixture)
    let opened = try await nodes.all { number in
      try await offered.go(10_000 + number, by: nodes.accounts(number)).get()
    }
    let session = try #require(opened.first?.session.id)
    #expect(opened.allSatisfy { $0.user.id == offered.owner.user.id && $0.session.id == session })
    let begun = try await nodes.all { number in
      try await offered.say(.discard, by: session, through: nodes.accounts(number)).get()
    }
    #expect(begun.compactMap { $0 }.count == 1)
    #expect(try await nodes.fixture.count("users") == 1)
  }

  @Test("RULES §3.4: with one refresh token all succeed, and one rotates", arguments: Backend.allCases)
  func refresh(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let id = try await nodes.fixture.signUp(1).session.id
    for counter: Int64 in 0..<3 {
      let outcomes = try await nodes.all { number in
        try await nodes.accounts(number).refresh(
          Refresh(
            session: id, counter: counter, binding: .off, policy: SessionPolicy(), now: Fixture.now))
      }
      #expect(outcomes.allSatisfy { $0.session?.session.counter == counter + 1 })
    }
  }

  @Test("the last identity stays, whichever two are unlinked", arguments: Backend.allCases)
  func unlink(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let user = try await nodes.fixture.signIn(1, token: 1, 1).get()
    let two = SignInPolicy(identitiesPerTeam: 2)
    let linked = try await nodes.fixture.link(2, token: 2, 2, bearer: user.session.id, policy: two).get()
    let ids = linked.user.identities.map(\.id)
    #expect(ids.count == 2)
    let outcomes = try await nodes.all { number in
      try await nodes.users(number).unlink(ids[number % 2], of: user.user.id, now: Fixture.now)
    }
    #expect(outcomes.count { $0 == .unlinked } == 1)
    #expect(try await nodes.fixture.count("identities") == 1)
  }

  @Test("a ban that was answered holds for every refresh that comes after", arguments: Backend.allCases)
  func ban(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let open = try await nodes.fixture.signIn(1, token: 1, 1).get()
    let outcomes = try await nodes.all { number -> [RefreshOutcome] in
      if number == 25 {
        _ = try await nodes.users(number).update(
          open.user.id, UserChange(bannedUntil: .max), now: Fixture.now)
        return [try await nodes.fixture.refresh(open.session.id, 0)]
      }
      _ = try await nodes.accounts(number).refresh(
        Refresh(
          session: open.session.id, counter: 0, binding: .off, policy: SessionPolicy(), now: Fixture.now))
      return []
    }
    #expect(outcomes.flatMap { $0 }.map(\.refusal) == [.banned])
    let seen = try await nodes.accounts(1).session(open.session.id, now: now)
    #expect(seen?.user.isBanned(at: now) == true)
  }

  @Test(
    "everything at once, in any order: nothing fails, nothing is left hanging", arguments: Backend.allCases)
  func everything(backend: Backend) async throws {
    let nodes = try await Nodes(backend)
    let guests = try await nodes.all { try await nodes.fixture.signUp($0).session.id }
    let owners = try await nodes.all { number in
      try await nodes.fixture.signIn(number % 8, token: number, 100 + number).get()
    }
    _ = try await nodes.all { number in
      let accounts = nodes.accounts(number)
      for round in 0..<6 {
        let token = 1_000 + number * 10 + round
        let owner = owners[(number * 7 + round) % 50]
        switch (number + round) % 7 {
        case 0:
          let link = Fixture.link(
            Fixture.assertion(round, token: token), token, bearer: guests[(number + round) % 50])
          _ = try await accounts.link(link)
        case 1:
          _ = try await accounts.signIn(Fixture.signIn(Fixture.assertion(round, token: token), token))
        case 2: _ = try await nodes.fixture.refresh(owner.session.id, 0)
        case 3: _ = try await accounts.signOut(owner.session.id, .others, now: Fixture.now)
        case 4: _ = try await accounts.session(owner.session.id, now: Fixture.now)
        case 5:
          _ = try await nodes.users(number).update(
            owner.user.id, UserChange(userMetadata: ["a": .integer(token)]), now: Fixture.now)
        default:
          _ = try await nodes.fixture.delete(
            owner.user.id, in: nodes.databases[number % nodes.databases.count])
        }
      }
    }
    let orphans = try await nodes.fixture.database.read {
      try await $0.first(
        """
        select (select count(*) from identities where user_id not in (select id from users))
          + (select count(*) from sessions where user_id not in (select id from users))
          + (select count(*) from users where is_anonymous = 0
              and id not in (select user_id from identities))
        """
      ) { $0.int64(0) }
    }
    #expect(orphans == 0)
  }
}
